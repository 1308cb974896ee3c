import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory that only this user can enter. */
export interface PrivateFolder {
  readonly path: string;
  /** Removes it with all that is in it. Idempotent. */
  remove(): void;
}

// A socket's path has room for 107 bytes; the rest is for the names below the folder.
const maxBase = 60;

/** Makes a fresh directory of mode 0700, in the runtime directory where there is one. */
export function makePrivateFolder(): PrivateFolder {
  const path = mkdtempSync(join(baseFolder(), "toolport-"));
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on("exit", remove);
  return { path, remove };
}

function baseFolder(): string {
  const folders = [process.env["XDG_RUNTIME_DIR"], tmpdir(), "/tmp"];
  return (
    folders.find((folder) => folder && folder.length <= maxBase && isWritable(folder)) ?? tmpdir()
  );
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
