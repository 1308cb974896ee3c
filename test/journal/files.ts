import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ExecutionContext } from "ava";

/** A path for a journal in a directory of its own, removed when the test ends. */
export function temporaryPath(t: ExecutionContext): string {
  const directory = mkdtempSync(join(tmpdir(), "toolport-journal-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "journal.db");
}

/** Copies a journal's files as a crash at this moment would leave them. */
export function copyAsCrashed(from: string, to: string): void {
  copyFileSync(from, to);
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
}
