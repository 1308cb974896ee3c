import { ToolPortError } from "../errors.ts";
import { unavailable } from "./faults.ts";

/** The failures of SQLite that are told apart. */
export type SqliteCode =
  | "BUSY"
  | "READONLY"
  | "IOERR"
  | "CORRUPT"
  | "FULL"
  | "CANTOPEN"
  | "NOTADB"
  | "OTHER";

const codes: Readonly<Record<number, SqliteCode>> = {
  5: "BUSY",
  8: "READONLY",
  10: "IOERR",
  11: "CORRUPT",
  13: "FULL",
  14: "CANTOPEN",
  26: "NOTADB",
};

/** Which failure of SQLite this is; undefined where it is none. */
export function sqliteCode(error: unknown): SqliteCode | undefined {
  if (!(error instanceof Error && "errcode" in error)) return undefined;
  // The upper bits tell variants of one failure apart.
  return codes[Number(error.errcode) & 0xff] ?? "OTHER";
}

/** What people do about a failure, as the end of a sentence. */
const advice: Readonly<Record<SqliteCode, string>> = {
  BUSY: "another program holds its file; ask again",
  READONLY: "its file cannot be written; mend its permissions, then ask again",
  IOERR: "the disk failed; mend it, then ask again",
  CORRUPT: "its file is damaged; restore it from a copy",
  FULL: "the disk is full; free some space, then ask again",
  CANTOPEN: "its file cannot be opened; mend its permissions, then ask again",
  NOTADB: "its file is damaged; restore it from a copy",
  OTHER: "the server's log tells why",
};

/** What whoever asked is told: a fault, with neither path nor stack in it. */
export function asFault(error: unknown): ToolPortError {
  if (error instanceof ToolPortError) return error;
  return unavailable(`failed: ${advice[sqliteCode(error) ?? "OTHER"]}`);
}
