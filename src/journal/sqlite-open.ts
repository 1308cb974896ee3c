import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { ConfigurationError, ToolPortError } from "../errors.ts";
import { createPrivateFile } from "./owner-lock.ts";
import { sqliteCode } from "./sqlite-failure.ts";
import {
  applicationId,
  callColumns,
  integer,
  readCall,
  readRun,
  runColumns,
  schema,
  schemaVersion,
  sumOfJournal,
} from "./sqlite-rows.ts";
import { quote } from "./rules.ts";
import type { LogLevel } from "./sqlite-protocol.ts";
import { findWalDamage } from "./wal-check.ts";

/** A journal's file, opened and checked. */
export interface OpenedFile {
  readonly db: DatabaseSync;
  /** Counts the owners; claims of any other are dead. */
  readonly epoch: number;
  /** Where the journal's own clock goes on from, in milliseconds. */
  readonly clock: number;
}

type Log = (level: LogLevel, message: string) => void;

/** Above this many bytes a file's records are checked as they are read, and not at the start. */
const maxCheckedBytes = 128 * 1024 * 1024;

/**
 * The one path that a journal's file goes by, links followed.
 *
 * @throws ConfigurationError where its directory does not exist
 */
export function resolveJournalPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const directory = dirname(path);
  if (!existsSync(directory)) {
    throw new ConfigurationError(
      `the journal cannot be created: its directory ${directory} does not exist; create it first`,
    );
  }
  return join(realpathSync(directory), basename(path));
}

/**
 * Opens a journal's file as its owner: creates it where there is none, checks it, and counts up its
 * epoch.
 *
 * @param log told of each damaged record; opening goes on, and such a record is never claimable
 * @throws ConfigurationError where the file is damaged as a whole, or no journal of this version
 */
export function openOwned(path: string, log: Log): OpenedFile {
  const created = createPrivateFile(path);
  if (created) syncDirectory(dirname(path));
  for (const suffix of ["-wal", "-shm"]) {
    if (existsSync(path + suffix)) chmodSync(path + suffix, 0o600);
  }
  const walDamage = findWalDamage(`${path}-wal`);
  if (walDamage !== undefined) {
    throw damaged(
      path,
      `${walDamage} of its write-ahead log misses its checksum although commits follow it, so ` +
        `outcomes that were acknowledged would be lost`,
    );
  }
  const db = new DatabaseSync(path, { timeout: 5000, enableForeignKeyConstraints: false });
  try {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    db.exec("PRAGMA wal_autocheckpoint = 2000");
    db.exec("PRAGMA journal_size_limit = 33554432");
    db.exec("PRAGMA cache_size = -16384");
    prepareSchema(db, path);
    check(db, path, log);
    return { db, ...takeOver(db, path) };
  } catch (error) {
    db.close();
    throw asConfigurationError(error, path);
  }
}

/**
 * Opens a journal's file to read it, whoever owns it.
 *
 * @throws ConfigurationError where there is none, or it is no journal of this version
 */
export function openToRead(path: string): DatabaseSync {
  if (!existsSync(path)) {
    throw new ConfigurationError(
      `there is no journal at ${path}; name the file that the server uses`,
    );
  }
  try {
    const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    try {
      requireJournal(db, path);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    throw asConfigurationError(error, path);
  }
}

function prepareSchema(db: DatabaseSync, path: string): void {
  if (pragma(db, "application_id") === 0 && isEmpty(db)) {
    db.exec(`BEGIN IMMEDIATE; ${schema}
      INSERT INTO journal VALUES (1, 0, 0, ${sumOfJournal(0, 0)});
      PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}; COMMIT`);
  }
  requireJournal(db, path);
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

function requireJournal(db: DatabaseSync, path: string): void {
  if (pragma(db, "application_id") !== applicationId) {
    throw new ConfigurationError(`${path} is no journal of this program; name another file`);
  }
  const version = pragma(db, "user_version");
  if (version !== schemaVersion) {
    throw new ConfigurationError(
      `the journal ${path} has format ${version} and this program reads ${schemaVersion}; ` +
        `use the version of the program that wrote it, or name another file`,
    );
  }
}

function check(db: DatabaseSync, path: string, log: Log): void {
  const { size } = statSync(path);
  if (size > maxCheckedBytes) {
    log("info", `journal ${path} has ${size} bytes: its records are checked as they are read`);
    return;
  }
  // Unlike quick_check this compares indexes with tables too: a key that is damaged in the index
  // alone would look as if it had never been claimed.
  const finding = db.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
  if (finding !== "ok") throw damaged(path, String(finding));
  for (const row of db.prepare(`SELECT ${runColumns} FROM runs r`).iterate()) {
    const { run, intact } = readRun(row);
    if (!intact) {
      log(
        "error",
        `journal ${path}: the record of run ${quote(run.runId)} is damaged: it misses its ` +
          `checksum; its calls cannot be looked up or claimed; restore the file from a copy`,
      );
    }
  }
  const calls = `SELECT ${callColumns}, r.run_id AS r_run_id FROM calls c LEFT JOIN runs r ON r.id = c.run`;
  for (const row of db.prepare(calls).iterate()) {
    const { call, intact } = readCall(row);
    if (!intact) {
      log(
        "error",
        `journal ${path}: the record of call ${quote(call.callId)} in run ` +
          `${quote(String(row["r_run_id"]))} is damaged: it misses its checksum; ` +
          `it cannot be looked up or claimed; restore the file from a copy`,
      );
    }
  }
}

function takeOver(db: DatabaseSync, path: string): { epoch: number; clock: number } {
  const row = db.prepare("SELECT epoch, clock, sum FROM journal").get() ?? {};
  const epoch = integer(row["epoch"]) + 1;
  const stored = integer(row["clock"]);
  if (sumOfJournal(epoch - 1, stored) !== row["sum"]) {
    throw damaged(path, "the record of its owner and clock misses its checksum");
  }
  // The clock is written down now and then, the stamps of runs with every use.
  const clock = Math.max(stored, latestStamp(db));
  db.prepare("UPDATE journal SET epoch = ?, clock = ?, sum = ?").run(
    epoch,
    clock,
    sumOfJournal(epoch, clock),
  );
  return { epoch, clock };
}

function latestStamp(db: DatabaseSync): number {
  const newest = `SELECT ${runColumns} FROM runs r WHERE r.expired IS NULL ORDER BY r.used DESC`;
  for (const row of db.prepare(newest).iterate()) {
    const { run, intact } = readRun(row);
    // A damaged stamp may lie far ahead and would expire everything.
    if (intact) return run.used;
  }
  return 0;
}

function pragma(db: DatabaseSync, name: string): number {
  return integer(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function damaged(path: string, finding: string): ConfigurationError {
  return new ConfigurationError(
    `the journal ${path} is damaged: ${finding}; restore it from a copy, or move it and its -wal ` +
      `file away to begin an empty one, which forgets the calls that ran`,
  );
}

/** Says why a journal cannot be opened, to whoever started the process. */
export function asConfigurationError(error: unknown, path: string): ToolPortError {
  if (error instanceof ToolPortError) return error;
  const code = sqliteCode(error);
  const text = error instanceof Error ? error.message : String(error);
  if (code === "CORRUPT" || code === "NOTADB") return damaged(path, text);
  return new ConfigurationError(`the journal ${path} cannot be opened: ${text}`, { cause: error });
}

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
