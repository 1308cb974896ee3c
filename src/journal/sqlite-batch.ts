import type { DatabaseSync } from "node:sqlite";

import { ToolPortError } from "../errors.ts";
import type { JournalClock } from "./retention.ts";
import { asFault } from "./sqlite-failure.ts";
import type { SqliteList } from "./sqlite-list.ts";
import type {
  Answer,
  Failure,
  LogLevel,
  Operation,
  ReadOperation,
  WorkerMessage,
  WriteOperation,
} from "./sqlite-protocol.ts";
import type { SqliteStore } from "./sqlite-store.ts";

/** The number of an operation that nobody waits for. */
const unanswered = 0;

/** What a batch works on. */
export interface BatchTarget {
  readonly db: DatabaseSync;
  readonly store: SqliteStore;
  readonly lister: SqliteList;
  readonly clock: JournalClock;
  say(message: WorkerMessage): void;
  log(level: LogLevel, message: string): void;
}

/**
 * Executes what arrived together: the reads first, answered at once, then all writes in one
 * transaction, answered when it is on the disk.
 *
 * - B1. A write is answered after its commit.
 * - B2. Where the transaction fails, each write is tried in one of its own, so that one that is too
 *   large for the disk takes no other with it.
 * - B3. A write that the rules refuse has written nothing, so the others stand.
 */
export class BatchRunner {
  readonly #target: BatchTarget;
  #failing = false;

  constructor(target: BatchTarget) {
    this.#target = target;
  }

  /** Executes the reads and writes among the operations. */
  run(operations: readonly Operation[]): void {
    const writes: WriteOperation[] = [];
    const reads = new Replies();
    /** Look-ups whose use has to be written before they are answered. */
    const waiting: Answer[] = [];
    for (const operation of operations) {
      if (isRead(operation)) this.#read(operation, reads, waiting, writes);
      else if (isWrite(operation)) writes.push(operation);
    }
    reads.sendBy(this.#target);
    if (writes.length === 0) return;
    const replies = new Replies();
    if (!this.#commit(writes, replies))
      for (const write of writes) this.#commitAlone(write, replies);
    // A look-up reads well from a full disk; only its use goes unrecorded.
    for (const answer of waiting) replies.answers.push(answer);
    replies.sendBy(this.#target);
  }

  /**
   * Executes in a transaction.
   *
   * @throws what `work` or SQLite throws, after a rollback
   */
  transaction<T>(work: () => T): T {
    const { db, store } = this.#target;
    try {
      db.exec("BEGIN IMMEDIATE");
      const result = work();
      const done = store.writeUses();
      db.exec("COMMIT");
      done();
      if (this.#failing) this.#target.log("info", "the journal can be written again");
      this.#failing = false;
      return result;
    } catch (error) {
      store.forget();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (!this.#failing) {
        const text = error instanceof Error ? error.message : String(error);
        this.#target.log("error", `the journal cannot be written: ${text}`);
      }
      this.#failing = true;
      throw error;
    }
  }

  /** Writes what may wait, if there is any; a failure is logged and tried again later. */
  writeUses(): void {
    if (!this.#target.store.hasUses) return;
    try {
      this.transaction(() => {});
    } catch {
      // Logged by the transaction.
    }
  }

  #read(
    operation: ReadOperation,
    replies: Replies,
    waiting: Answer[],
    writes: WriteOperation[],
  ): void {
    const { store, lister, clock } = this.#target;
    const id = operation[0];
    try {
      if (operation[1] === "lookup") {
        const [, , principal, runId, callId] = operation;
        const { recorded, stale } = store.lookup({ principal, runId, callId });
        if (stale) {
          writes.push([unanswered, "touch", principal, runId]);
          waiting.push([id, recorded]);
        } else {
          replies.answers.push([id, recorded]);
        }
      } else if (operation[1] === "started") {
        const [, , principal, runId, toolName] = operation;
        replies.answers.push([id, store.started({ principal, runId }, toolName)]);
      } else {
        this.writeUses();
        const stateOf = store.stateOf.bind(store);
        const view = { now: clock.now, stateOf };
        replies.answers.push([id, lister.list(operation[2], view)]);
      }
    } catch (error) {
      replies.fail(id, error, this.#target);
    }
  }

  /** @returns false where the transaction failed and nothing of it stands */
  #commit(writes: readonly WriteOperation[], replies: Replies): boolean {
    try {
      const done = this.transaction(() => {
        const mine = new Replies();
        for (const write of writes) this.#write(write, mine);
        return mine;
      });
      replies.add(done);
      return true;
    } catch {
      return false;
    }
  }

  #commitAlone(write: WriteOperation, replies: Replies): void {
    try {
      const done = this.transaction(() => {
        const mine = new Replies();
        this.#write(write, mine);
        return mine;
      });
      replies.add(done);
    } catch (error) {
      replies.fail(write[0], asFault(error), this.#target);
    }
  }

  #write(write: WriteOperation, replies: Replies): void {
    const { store } = this.#target;
    const id = write[0];
    try {
      if (write[1] === "claim") {
        const [, , principal, runId, callId, toolName, callDigest, manifestDigest, idempotent] =
          write;
        const key = { principal, runId, callId };
        const claim = { ...key, toolName, callDigest, manifestDigest, idempotent };
        replies.answers.push([id, store.claim(claim)]);
      } else if (write[1] === "end") {
        const [, , principal, runId, callId, attempt, kind, counted, text, parts] = write;
        const outcome = text === null ? null : { text, parts };
        const ending = { kind, counted, outcome };
        replies.answers.push([id, store.end({ principal, runId, callId }, attempt, ending)]);
      } else {
        store.touch({ principal: write[2], runId: write[3] });
        replies.answers.push([id, null]);
      }
    } catch (error) {
      if (!(error instanceof ToolPortError)) throw error;
      replies.fail(id, error, this.#target);
    }
  }
}

/** What to answer, gathered so that it crosses to the main thread in one message. */
export class Replies {
  readonly answers: Answer[] = [];
  readonly failures: Failure[] = [];

  /** Adds a failure; what is no fault yet is logged and becomes one. */
  fail(id: number, error: unknown, { log }: Pick<BatchTarget, "log">): void {
    const fault = asFault(error);
    if (fault !== error) {
      log("error", `the journal failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    this.failures.push([id, fault.code, fault.message, fault.started]);
  }

  /** Adds all of another's. */
  add(other: Replies): void {
    this.answers.push(...other.answers);
    this.failures.push(...other.failures);
  }

  /** Sends them, if there are any. */
  sendBy({ say }: Pick<BatchTarget, "say">): void {
    const { answers, failures } = this;
    if (answers.length + failures.length > 0) say({ kind: "answers", answers, failures });
  }
}

function isRead(operation: Operation): operation is ReadOperation {
  const kind = operation[1];
  return kind === "lookup" || kind === "started" || kind === "list";
}

function isWrite(operation: Operation): operation is WriteOperation {
  const kind = operation[1];
  return kind === "claim" || kind === "end" || kind === "touch";
}
