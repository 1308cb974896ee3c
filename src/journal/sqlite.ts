import { Worker } from "node:worker_threads";

import { ConfigurationError, ToolPortError } from "../errors.ts";
import { closed, unavailable } from "./faults.ts";
import type {
  CallKey,
  Claim,
  Ending,
  Entry,
  Journal,
  ListFilter,
  Pruned,
  Recorded,
  RunKey,
} from "./journal.ts";
import { encodeOutcome } from "./outcome-text.ts";
import type { Retention } from "./retention.ts";
import { defaultRetentionMs, defaultTombstoneMs, housekeepingMs } from "./retention.ts";
import { checkIds, hasStarted } from "./rules.ts";
import { toEntry, toRecorded } from "./sqlite-answers.ts";
import type {
  Answers,
  Batch,
  LogLevel,
  Operation,
  WorkerMessage,
  WorkerOptions,
} from "./sqlite-protocol.ts";

/** Where and how a journal is kept on the disk. */
export interface SqliteJournalOptions extends Retention {
  /** Its file, created where there is none; the directory must exist. */
  readonly path: string;
  /**
   * How much its records may take, in bytes, before new claims are refused; no bound by default.
   * Its write-ahead log takes some more, 32 MiB as a rule.
   */
  readonly maxBytes?: number;
  /** How long to wait for another owner to let go, in milliseconds; 0 by default. */
  readonly graceMs?: number;
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  readonly clock?: () => number;
  /** Told what an operator should know, damaged records above all; standard error by default. */
  readonly log?: (level: "info" | "warn" | "error", message: string) => void;
}

/** What tests reach into. */
export interface SqliteJournalHooks {
  /** Given the thread that the journal lives in. */
  readonly worker?: (worker: Worker) => void;
  /** How many pages the file may have: a full disk. */
  readonly maxPages?: number;
}

/**
 * Opens a journal in a SQLite file. It lives in a thread of its own, so that the main thread never
 * waits for the disk, and all that is asked for while one commit is under way shares the next. A
 * change is durable in the sense of `synchronous=FULL` when its promise resolves.
 *
 * The file has one owner process; it and what lies beside it (`-wal`, `-shm`, `.lock`, `.owner`)
 * have mode 0600. It must be on a local disk.
 *
 * @throws ConfigurationError where the directory does not exist, another process owns the journal
 *   (its id is named), or the file is damaged or no journal
 */
export async function sqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  return openSqliteJournal(options, {});
}

/**
 * {@link sqliteJournal} with a way in for tests.
 *
 * @internal
 */
export async function openSqliteJournal(
  options: SqliteJournalOptions,
  hooks: SqliteJournalHooks,
): Promise<Journal> {
  const clock = options.clock ?? (() => performance.now());
  const log = options.log ?? logToStandardError;
  const retentionMs = options.retentionMs ?? defaultRetentionMs;
  const data: WorkerOptions = {
    path: options.path,
    retentionMs,
    tombstoneMs: options.tombstoneMs ?? defaultTombstoneMs,
    ...(options.maxBytes !== undefined && { maxBytes: options.maxBytes }),
    graceMs: options.graceMs ?? 0,
    reading: clock(),
    ...(hooks.maxPages !== undefined && { maxPages: hooks.maxPages }),
  };
  // The same file as a source and as a build has another extension.
  const file = new URL(`./sqlite-worker${import.meta.url.slice(-3)}`, import.meta.url);
  const worker = new Worker(file, {
    workerData: data,
    name: "toolport-journal",
    // The process's own flags, --input-type among them, are not meant for this thread.
    execArgv: [],
  });
  hooks.worker?.(worker);
  await isReady(worker, log);
  return new SqliteJournal(worker, clock, log, housekeepingMs(retentionMs));
}

async function isReady(
  worker: Worker,
  log: (level: LogLevel, message: string) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const onMessage = (message: WorkerMessage): void => {
    if (message.kind === "ready") resolve(undefined);
    else if (message.kind === "refused") reject(new ConfigurationError(message.message));
    else if (message.kind === "log") log(message.level, message.message);
  };
  const onExit = (): void => reject(new ConfigurationError("the journal's thread has ended"));
  worker.on("message", onMessage).once("error", reject).once("exit", onExit);
  try {
    await promise;
  } finally {
    worker.off("message", onMessage).off("exit", onExit);
  }
}

interface Pending {
  readonly kind: keyof Answers;
  /** The thread answers each operation with a value of its kind. */
  resolve(value: Answers[keyof Answers]): void;
  reject(error: ToolPortError): void;
}

/**
 * The main thread's end of the journal.
 *
 * - F1. Whatever is asked for in one turn of the loop crosses to the thread in one message.
 * - F2. Every operation ends: answered, failed, or rejected when the thread is gone.
 * - F3. The thread keeps the process alive only while an operation is pending.
 */
class SqliteJournal implements Journal {
  readonly isDurable = true;
  readonly #worker: Worker;
  readonly #clock: () => number;
  readonly #pending = new Map<number, Pending>();
  readonly #housekeeping: NodeJS.Timeout;
  readonly #gone: Promise<void>;
  #queue: Operation[] = [];
  #lastId = 0;
  /** Why nothing more can be asked for. */
  #ended: ToolPortError | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    worker: Worker,
    clock: () => number,
    log: (level: LogLevel, message: string) => void,
    everyMs: number,
  ) {
    this.#worker = worker;
    this.#clock = clock;
    worker.on("message", (message: WorkerMessage) => {
      if (message.kind === "answers") this.#settle(message);
      else if (message.kind === "log") log(message.level, message.message);
    });
    worker.on("error", (error) => log("error", `the journal's thread failed: ${String(error)}`));
    this.#gone = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#lose();
        resolve();
      });
    });
    this.#housekeeping = setInterval(() => this.#send([0, "tick"]), everyMs);
    this.#housekeeping.unref();
    worker.unref();
  }

  async lookup(key: CallKey): Promise<Recorded> {
    checkIds(key, key.callId);
    const { principal, runId, callId } = key;
    return toRecorded(await this.#ask("lookup", (id) => [id, "lookup", principal, runId, callId]));
  }

  async claim(claim: Claim): Promise<{ readonly attempt: number }> {
    checkIds(claim, claim.callId);
    const attempt = await this.#ask("claim", (id) => [
      id,
      "claim",
      claim.principal,
      claim.runId,
      claim.callId,
      claim.toolName,
      claim.callDigest,
      claim.manifestDigest,
      claim.idempotent,
    ]);
    return { attempt };
  }

  async end(key: CallKey, attempt: number, ending: Ending): Promise<"recorded" | "noted"> {
    checkIds(key, key.callId);
    const outcome = ending.kind === "outcome" ? ending.outcome : undefined;
    const stored = outcome && encodeOutcome(outcome);
    const state = outcome === undefined ? ending.kind : "done";
    const counted = state !== "outcome" && hasStarted(state, attempt, outcome);
    return this.#ask("end", (id) => [
      id,
      "end",
      key.principal,
      key.runId,
      key.callId,
      attempt,
      ending.kind,
      counted,
      stored?.text ?? null,
      stored?.parts ?? null,
    ]);
  }

  async started(run: RunKey, toolName: string): Promise<number> {
    checkIds(run);
    return this.#ask("started", (id) => [id, "started", run.principal, run.runId, toolName]);
  }

  async touch(run: RunKey): Promise<void> {
    checkIds(run);
    await this.#ask("touch", (id) => [id, "touch", run.principal, run.runId]);
  }

  async list(filter: ListFilter = {}): Promise<readonly Entry[]> {
    return (await this.#ask("list", (id) => [id, "list", { ...filter }])).map(toEntry);
  }

  async prune(): Promise<Pruned> {
    return this.#ask("prune", (id) => [id, "prune"]);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#housekeeping);
    if (this.#ended !== undefined) return;
    this.#worker.ref();
    const answered = this.#ask("close", (id) => [id, "close"]);
    this.#ended = closed();
    // A thread that dies here leaves what a crash does, and the next owner copes with that.
    await answered.catch(() => {});
    await this.#gone;
  }

  #ask<Kind extends keyof Answers>(
    kind: Kind,
    operation: (id: number) => Operation,
  ): Promise<Answers[Kind]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      const id = ++this.#lastId;
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(id, {
        kind,
        resolve: (value) => resolve(value as Answers[Kind]),
        reject,
      });
      this.#send(operation(id));
    });
  }

  #send(operation: Operation): void {
    if (this.#queue.push(operation) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const batch: Batch = { reading: this.#clock(), operations: this.#queue };
    this.#queue = [];
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(batch);
  }

  #settle({ answers, failures }: Extract<WorkerMessage, { kind: "answers" }>): void {
    for (const [id, value] of answers) this.#takePending(id)?.resolve(value);
    for (const [id, code, message, started] of failures) {
      const pending = this.#takePending(id);
      const ran = pending?.kind === "end" ? "unknown" : started;
      pending?.reject(new ToolPortError(code, message, { started: ran }));
    }
    if (this.#pending.size === 0 && this.#closing === undefined) this.#worker.unref();
  }

  #takePending(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #lose(): void {
    clearInterval(this.#housekeeping);
    this.#ended ??= unavailable("cannot be used: its thread has ended; start the process again");
    for (const [id, pending] of this.#pending) {
      this.#pending.delete(id);
      pending.reject(this.#ended);
    }
  }
}

function logToStandardError(level: LogLevel, message: string): void {
  process.stderr.write(`${level}: ${message}\n`);
}
