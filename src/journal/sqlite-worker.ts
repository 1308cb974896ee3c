/**
 * The thread that a SQLite journal lives in: it opens the file, executes what the main thread sends,
 * and prunes in between. All that arrives while it commits is taken together next.
 */
import type { MessagePort } from "node:worker_threads";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";

import type { Pruned } from "./journal.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { takeOwnerLock } from "./owner-lock.ts";
import { JournalClock, stampSlackMs } from "./retention.ts";
import { BatchRunner, Replies } from "./sqlite-batch.ts";
import { SqliteList } from "./sqlite-list.ts";
import type { OpenedFile } from "./sqlite-open.ts";
import { asConfigurationError, openOwned, resolveJournalPath } from "./sqlite-open.ts";
import type {
  Batch,
  LogLevel,
  Operation,
  WorkerMessage,
  WorkerOptions,
} from "./sqlite-protocol.ts";
import { SqlitePruner } from "./sqlite-prune.ts";
import { SqliteStore } from "./sqlite-store.ts";

/** One pruning, and who waits for it; housekeeping has nobody waiting. */
interface PruneJob {
  readonly askedBy: number[];
  records: number;
  runs: number;
}

class JournalWorker {
  readonly #port: MessagePort;
  readonly #file: OpenedFile;
  readonly #lock: OwnerLock;
  readonly #clock: JournalClock;
  readonly #runner: BatchRunner;
  readonly #pruner: SqlitePruner;
  #job: PruneJob | undefined;
  #nextJob: PruneJob | undefined;

  constructor(port: MessagePort, options: WorkerOptions, lock: OwnerLock, file: OpenedFile) {
    const slackMs = stampSlackMs(options.retentionMs);
    this.#port = port;
    this.#file = file;
    this.#lock = lock;
    this.#clock = new JournalClock(file.clock, options.reading);
    const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    const store = new SqliteStore(file, this.#clock, { slackMs, maxBytes });
    const { retentionMs, tombstoneMs } = options;
    this.#pruner = new SqlitePruner(file.db, store, { retentionMs, tombstoneMs, slackMs });
    this.#runner = new BatchRunner({
      db: file.db,
      store,
      lister: new SqliteList(file.db),
      clock: this.#clock,
      say,
      log,
    });
    if (options.maxPages !== undefined) file.db.exec(`PRAGMA max_page_count = ${options.maxPages}`);
  }

  /** Executes a batch and all that arrived behind it. */
  take(first: Batch): void {
    const operations: Operation[] = [...first.operations];
    let { reading } = first;
    for (;;) {
      const next: { message: Batch } | undefined = receiveMessageOnPort(this.#port);
      if (next === undefined) break;
      reading = next.message.reading;
      operations.push(...next.message.operations);
    }
    this.#clock.advance(reading);
    this.#runner.run(operations);
    for (const [id, kind] of operations) {
      if (kind === "tick") this.#runner.writeUses();
      if (kind === "tick" || kind === "prune") this.#prune(id);
    }
    const close = operations.find((operation) => operation[1] === "close");
    if (close !== undefined) this.#close(close[0]);
  }

  #prune(askedBy: number): void {
    if (this.#job !== undefined) {
      this.#nextJob ??= { askedBy: [], records: 0, runs: 0 };
      this.#nextJob.askedBy.push(askedBy);
      return;
    }
    this.#job = { askedBy: [askedBy], records: 0, runs: 0 };
    setImmediate(() => this.#pruneStep());
  }

  #pruneStep(): void {
    const job = this.#job;
    if (job === undefined) return;
    const replies = new Replies();
    try {
      const step = this.#runner.transaction(() => this.#pruner.step(this.#clock.now));
      job.records += step.records;
      job.runs += step.runs;
      if (step.more) {
        setImmediate(() => this.#pruneStep());
        return;
      }
      const pruned: Pruned = { records: job.records, runs: job.runs };
      for (const id of job.askedBy) replies.answers.push([id, pruned]);
    } catch (error) {
      for (const id of job.askedBy) replies.fail(id, error, { log });
    }
    replies.sendBy({ say });
    this.#job = this.#nextJob;
    this.#nextJob = undefined;
    if (this.#job !== undefined) setImmediate(() => this.#pruneStep());
  }

  #close(askedBy: number): void {
    const { db } = this.#file;
    const replies = new Replies();
    for (const job of [this.#job, this.#nextJob]) {
      for (const id of job?.askedBy ?? []) {
        replies.answers.push([id, { records: job?.records ?? 0, runs: job?.runs ?? 0 }]);
      }
    }
    this.#job = this.#nextJob = undefined;
    this.#runner.writeUses();
    try {
      // Closing the last connection moves the write-ahead log into the file.
      db.close();
    } catch (error) {
      log("warn", `the journal did not close cleanly: ${String(error)}`);
    }
    this.#lock.release();
    replies.answers.push([askedBy, null]);
    replies.sendBy({ say });
    this.#port.close();
  }
}

function start(port: MessagePort, options: WorkerOptions): void {
  let lock: OwnerLock | undefined;
  try {
    const path = resolveJournalPath(options.path);
    lock = takeOwnerLock(path, options.graceMs);
    const file = openOwned(path, log);
    const worker = new JournalWorker(port, options, lock, file);
    port.on("message", (batch: Batch) => worker.take(batch));
    say({ kind: "ready" });
  } catch (error) {
    lock?.release();
    say({ kind: "refused", message: asConfigurationError(error, options.path).message });
    port.close();
  }
}

function say(message: WorkerMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}

function log(level: LogLevel, message: string): void {
  say({ kind: "log", level, message });
}

if (parentPort !== null) {
  const options: WorkerOptions = workerData;
  start(parentPort, options);
}
