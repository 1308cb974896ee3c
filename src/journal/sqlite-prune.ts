import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { Pruned } from "./journal.ts";
import type { SqliteStore } from "./sqlite-store.ts";
import { integer, readCall, readRun, callColumns, runColumns, sumOfRun } from "./sqlite-rows.ts";

/** When records and tombstones go, in milliseconds of the journal's clock. */
export interface PruneLimits {
  readonly retentionMs: number;
  readonly tombstoneMs: number;
  /** How far a run's stamp may lag behind its last use. */
  readonly slackMs: number;
}

/** How many rows one step deletes at most, so that calls never wait long for it. */
const stepRows = 256;

/**
 * Removes what retention has passed, in steps: first a run becomes a tombstone, so that none of its
 * keys can be claimed from then on, then its records are deleted, a few in each step. A crash in
 * between leaves records without use, and the next pruning goes on with them.
 */
export class SqlitePruner {
  readonly #store: SqliteStore;
  readonly #limits: PruneLimits;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync, store: SqliteStore, limits: PruneLimits) {
    this.#store = store;
    this.#limits = limits;
    this.#statements = prepare(db);
  }

  /**
   * Does one step, in the caller's transaction.
   *
   * @returns what it removed, and whether more is left to remove
   */
  step(now: number): Pruned & { readonly more: boolean } {
    let rows = 0;
    let records = 0;
    let runs = 0;
    while (rows < stepRows) {
      const unswept = this.#statements.unswept.get();
      if (unswept !== undefined) {
        const swept = this.#sweep(integer(unswept["id"]), stepRows - rows);
        records += swept;
        rows += swept + 1;
        continue;
      }
      const expirable = this.#expire(now);
      if (expirable === undefined) break;
      if (expirable) runs++;
      rows++;
    }
    if (rows < stepRows) {
      const { changes } = this.#statements.forgetTombstones.run(
        now - this.#limits.tombstoneMs,
        stepRows - rows,
      );
      rows += Number(changes);
    }
    return { records, runs, more: rows >= stepRows };
  }

  /** Deletes some records of an expired run. */
  #sweep(run: number, limit: number): number {
    this.#statements.deleteNotes.run(run, limit);
    const { changes } = this.#statements.deleteCalls.run(run, limit);
    if (Number(changes) < limit) this.#statements.swept.run(run);
    return Number(changes);
  }

  /**
   * Makes the least used run a tombstone where retention has passed it.
   *
   * @returns false where it is kept after all, undefined where none is left
   */
  #expire(now: number): boolean | undefined {
    const { retentionMs, slackMs } = this.#limits;
    const row = this.#statements.expirable.get(now - retentionMs - slackMs);
    if (row === undefined) return undefined;
    const { run, intact } = readRun(row);
    if (!intact || this.#isRunning(run.id)) {
      // Kept, and looked at again when retention has passed once more. A damaged one keeps missing
      // its checksum, so that it never becomes claimable.
      const sum = intact ? sumOfRun({ ...run, used: now }) : integer(row["r_sum"]);
      this.#statements.keep.run(now, sum, run.id);
      return false;
    }
    this.#statements.expire.run(now, sumOfRun({ ...run, expired: now }), run.id);
    this.#store.forgetRun(run.id);
    return true;
  }

  #isRunning(run: number): boolean {
    for (const row of this.#statements.running.iterate(run)) {
      if (this.#store.stateOf(readCall(row).call) === "running") return true;
    }
    return false;
  }
}

function prepare(
  db: DatabaseSync,
): Record<
  | "unswept"
  | "deleteNotes"
  | "deleteCalls"
  | "swept"
  | "expirable"
  | "running"
  | "keep"
  | "expire"
  | "forgetTombstones",
  StatementSync
> {
  const some = "SELECT id FROM calls WHERE run = ? ORDER BY id LIMIT ?";
  return {
    unswept: db.prepare("SELECT id FROM runs WHERE unswept = 1 LIMIT 1"),
    deleteNotes: db.prepare(`DELETE FROM notes WHERE call IN (${some})`),
    deleteCalls: db.prepare(`DELETE FROM calls WHERE id IN (${some})`),
    swept: db.prepare("UPDATE runs SET unswept = 0 WHERE id = ?"),
    expirable: db.prepare(
      `SELECT ${runColumns} FROM runs r
       WHERE r.expired IS NULL AND r.used < ? ORDER BY r.used LIMIT 1`,
    ),
    running: db.prepare(`SELECT ${callColumns} FROM calls c WHERE c.run = ? AND c.state = 0`),
    keep: db.prepare("UPDATE runs SET used = ?, sum = ? WHERE id = ?"),
    expire: db.prepare("UPDATE runs SET expired = ?, unswept = 1, sum = ? WHERE id = ?"),
    forgetTombstones: db.prepare(
      `DELETE FROM runs WHERE id IN (
         SELECT id FROM runs WHERE expired IS NOT NULL AND expired < ? AND unswept = 0
         ORDER BY expired LIMIT ?)`,
    ),
  };
}
