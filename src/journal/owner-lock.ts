import { chmodSync, closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { ConfigurationError } from "../errors.ts";
import { sqliteCode } from "./sqlite-failure.ts";

/** The lock that makes a process the one owner of a journal. */
export interface OwnerLock {
  /** Lets the next owner in. */
  release(): void;
}

/**
 * Takes the lock of a journal's file and holds it until it is released or the process is gone,
 * however it went: it is a lock of the operating system, on a file beside the journal, in the form
 * of an exclusive SQLite transaction. A text file beside it tells people who holds it.
 *
 * @param path the journal's file
 * @param graceMs how long to wait for another owner to let go; blocks this thread meanwhile
 * @throws ConfigurationError naming the holder's process id
 */
export function takeOwnerLock(path: string, graceMs: number): OwnerLock {
  const lockPath = `${path}.lock`;
  const ownerPath = `${path}.owner`;
  createPrivateFile(lockPath);
  const lock = new DatabaseSync(lockPath, { timeout: graceMs });
  try {
    // Else it would lay a rollback journal beside it, for a transaction that never writes.
    lock.exec("PRAGMA journal_mode = MEMORY");
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== "BUSY") throw error;
    throw new ConfigurationError(
      `the journal ${path} belongs to ${readHolder(ownerPath)}; ` +
        `stop that process first, or name another journal`,
    );
  }
  rmSync(ownerPath, { force: true });
  const holder = { pid: process.pid, startedAt: new Date().toISOString() };
  writeFileSync(ownerPath, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  return {
    release() {
      rmSync(ownerPath, { force: true });
      lock.close();
    },
  };
}

/**
 * Creates an empty file that only its owner may read, or makes an existing one so.
 *
 * It must not open a file that exists: closing that again would drop every lock that this process
 * holds on it, as POSIX has it.
 *
 * @returns whether it was created
 */
export function createPrivateFile(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    chmodSync(path, 0o600);
    return false;
  }
}

function readHolder(path: string): string {
  try {
    const { pid, startedAt }: { pid?: unknown; startedAt?: unknown } = JSON.parse(
      readFileSync(path, "utf8"),
    );
    return `process ${String(pid)}, which took it at ${String(startedAt)}`;
  } catch {
    return "another process";
  }
}
