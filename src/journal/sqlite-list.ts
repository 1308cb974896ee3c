import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { ListFilter } from "./journal.ts";
import type { RecordState } from "./rules.ts";
import type { EntryText } from "./sqlite-protocol.ts";
import type { CallRow } from "./sqlite-rows.ts";
import { callColumns, readCall, readNote, readRun, runColumns } from "./sqlite-rows.ts";

/** What a list needs to know beside the file. */
export interface ListView {
  /** The journal's clock, in milliseconds. */
  readonly now: number;
  stateOf(call: CallRow): RecordState;
}

/** Lists records as {@link Journal.list} says. */
export class SqliteList {
  readonly #all: StatementSync;
  readonly #ofRun: StatementSync;
  readonly #notes: StatementSync;

  constructor(db: DatabaseSync) {
    this.#all = prepareList(db, "true");
    this.#ofRun = prepareList(db, "r.run_id = $runId");
    this.#notes = db.prepare(
      "SELECT call, attempt, outcome, parts, sum FROM notes WHERE call = ? ORDER BY id",
    );
  }

  /** The records that a filter lets through, newest use first. */
  list({ runId, callId, limit = 100 }: ListFilter, view: ListView): readonly EntryText[] {
    const which = {
      $callId: callId ?? null,
      $limit: Math.min(Math.max(0, Math.floor(limit)), 0x7fff_ffff),
    };
    const rows =
      runId === undefined ? this.#all.all(which) : this.#ofRun.all({ ...which, $runId: runId });
    return rows.map((row) => this.#entry(readRun(row), readCall(row), view));
  }

  #entry(
    { run, intact: runIntact }: ReturnType<typeof readRun>,
    { call, intact }: ReturnType<typeof readCall>,
    view: ListView,
  ): EntryText {
    const notes = this.#notes.all(call.id).map(readNote);
    const sound = runIntact && intact && notes.every((note) => note.intact);
    return {
      principal: run.principal,
      runId: run.runId,
      callId: call.callId,
      toolName: call.toolName,
      callDigest: call.callDigest,
      manifestDigest: call.manifestDigest,
      idempotent: call.idempotent,
      attempt: call.attempt,
      state: sound ? view.stateOf(call) : "damaged",
      // A damaged text may not parse, and nobody should take it for what the tool said.
      outcome: sound ? call.outcome : null,
      notes: sound
        ? notes.map(({ note }) => ({ attempt: note.attempt, outcome: note.outcome }))
        : [],
      idleMs: Math.max(0, view.now - call.used),
    };
  }
}

// The inner query sorts by what stands before the outcomes in a row, so it reads none of them but
// those that it returns.
function prepareList(db: DatabaseSync, condition: string): StatementSync {
  return db.prepare(
    `SELECT ${runColumns}, ${callColumns} FROM calls c JOIN runs r ON r.id = c.run
     WHERE c.id IN (
       SELECT c.id FROM runs r JOIN calls c ON c.run = r.id
       WHERE r.expired IS NULL AND ${condition} AND ($callId IS NULL OR c.call_id = $callId)
       ORDER BY c.used DESC, c.id DESC LIMIT $limit)
     ORDER BY c.used DESC, c.id DESC`,
  );
}
