import type { DatabaseSync, StatementSync } from "node:sqlite";

import { callColumns, runColumns } from "./sqlite-rows.ts";

/** What a store executes, prepared once. */
export type StoreStatements = Record<
  | "find"
  | "findRun"
  | "countStarted"
  | "nextRun"
  | "insertRun"
  | "useRun"
  | "insertCall"
  | "updateCall"
  | "useCall"
  | "notes"
  | "insertNote"
  | "writeClock"
  | "pageCount"
  | "freePages"
  | "pageSize",
  StatementSync
>;

/** Prepares what a store executes. */
export function prepareStore(db: DatabaseSync): StoreStatements {
  return {
    find: db.prepare(
      `SELECT ${runColumns}, ${callColumns} FROM runs r
       LEFT JOIN calls c ON c.run = r.id AND c.call_id = ?
       WHERE r.run_id = ? AND r.principal = ?`,
    ),
    findRun: db.prepare(`SELECT ${runColumns} FROM runs r WHERE r.run_id = ? AND r.principal = ?`),
    countStarted: db.prepare(
      "SELECT count(*) AS count FROM calls WHERE run = ? AND tool = ? AND counted = 1",
    ),
    nextRun: db.prepare("SELECT coalesce(max(id), 0) + 1 AS id FROM runs"),
    insertRun: db.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, NULL, 0, ?)"),
    useRun: db.prepare("UPDATE runs SET used = ?, sum = ? WHERE id = ?"),
    insertCall: db.prepare(
      `INSERT INTO calls (run, call_id, state, epoch, attempt, counted, tool, call_digest,
         manifest_digest, idempotent, used, sum)
       VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
    ),
    updateCall: db.prepare(
      `UPDATE calls SET state = ?, epoch = ?, attempt = ?, counted = ?, manifest_digest = ?,
         idempotent = ?, outcome = ?, parts = ?, used = ?, sum = ?
       WHERE id = ?`,
    ),
    useCall: db.prepare("UPDATE calls SET used = ? WHERE id = ?"),
    notes: db.prepare("SELECT call, attempt, outcome, parts, sum FROM notes WHERE call = ?"),
    insertNote: db.prepare(
      "INSERT INTO notes (call, attempt, outcome, parts, sum) VALUES (?, ?, ?, ?, ?)",
    ),
    writeClock: db.prepare("UPDATE journal SET clock = ?, sum = ? WHERE id = 1"),
    pageCount: db.prepare("PRAGMA page_count"),
    freePages: db.prepare("PRAGMA freelist_count"),
    pageSize: db.prepare("PRAGMA page_size"),
  };
}
