import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { ListFilter } from "./journal.ts";
import type { RecordState } from "./rules.ts";
import type { EntryText } from "./sqlite-protocol.ts";
import type { CallRow, RunRow } from "./sqlite-rows.ts";
import { callColumns, readCall, readNote, readRun, runColumns } from "./sqlite-rows.ts";

/** What a list needs to know beside the file. */
export interface ListView {
  /** The journal's clock, in milliseconds. */
  readonly now: number;
  /** How far a run's stamp may lag behind the use of its calls, in milliseconds. */
  readonly slackMs: number;
  stateOf(call: CallRow): RecordState;
}

/** Lists records as {@link Journal.list} says. */
export class SqliteList {
  readonly #runs: StatementSync;
  readonly #runsOfId: StatementSync;
  readonly #calls: StatementSync;
  readonly #callsOfId: StatementSync;
  readonly #notes: StatementSync;

  constructor(db: DatabaseSync) {
    const runs = `SELECT ${runColumns} FROM runs r WHERE r.expired IS NULL`;
    this.#runs = db.prepare(`${runs} ORDER BY r.used DESC`);
    this.#runsOfId = db.prepare(`${runs} AND r.run_id = ? ORDER BY r.used DESC`);
    const calls = `SELECT ${callColumns} FROM calls c WHERE c.run = ?`;
    this.#calls = db.prepare(`${calls} ORDER BY c.used DESC, c.id DESC LIMIT ?`);
    this.#callsOfId = db.prepare(`${calls} AND c.call_id = ? LIMIT ?`);
    this.#notes = db.prepare(
      "SELECT call, attempt, outcome, parts, sum FROM notes WHERE call = ? ORDER BY id",
    );
  }

  /** The records that a filter lets through, newest use first. */
  list(filter: ListFilter, view: ListView): readonly EntryText[] {
    const limit = Math.max(0, Math.floor(filter.limit ?? 100));
    const found: { readonly entry: EntryText; readonly used: number }[] = [];
    const runs =
      filter.runId === undefined ? this.#runs.iterate() : this.#runsOfId.iterate(filter.runId);
    for (const row of runs) {
      const { run, intact } = readRun(row);
      // A run's calls are never newer than its stamp and the slack.
      const last = found[limit - 1];
      if (last !== undefined && run.used + view.slackMs < last.used) break;
      const calls =
        filter.callId === undefined
          ? this.#calls.all(run.id, limit)
          : this.#callsOfId.all(run.id, filter.callId, limit);
      for (const call of calls) found.push(this.#entry(run, intact, readCall(call), view));
      found.sort((a, b) => b.used - a.used);
      found.length = Math.min(found.length, limit);
    }
    return found.map(({ entry }) => entry);
  }

  #entry(
    run: RunRow,
    runIntact: boolean,
    { call, intact }: ReturnType<typeof readCall>,
    view: ListView,
  ): { readonly entry: EntryText; readonly used: number } {
    const notes = this.#notes.all(call.id).map(readNote);
    const sound = runIntact && intact && notes.every((note) => note.intact);
    const entry: EntryText = {
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
    return { entry, used: call.used };
  }
}
