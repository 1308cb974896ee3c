import { damagedCall, damagedRun, expired, full } from "./faults.ts";
import type { CallKey, Claim, Ending, RunKey } from "./journal.ts";
import type { OutcomeText } from "./outcome-text.ts";
import { sameOutcome } from "./outcome-text.ts";
import type { JournalClock } from "./retention.ts";
import type { EndStep, RecordState } from "./rules.ts";
import { attemptOfClaim, neverClaimed, stepOfEnd } from "./rules.ts";
import type { RecordedText } from "./sqlite-protocol.ts";
import type { OpenedFile } from "./sqlite-open.ts";
import type { CallRow, RunRow } from "./sqlite-rows.ts";
import {
  integer,
  readCall,
  readNote,
  readRun,
  stateNumber,
  sumOfCall,
  sumOfJournal,
  sumOfNote,
  sumOfRun,
} from "./sqlite-rows.ts";
import type { StoreStatements } from "./sqlite-statements.ts";
import { prepareStore } from "./sqlite-statements.ts";

/** How a store is kept. */
export interface StoreOptions {
  /** How old a run's stamp may grow before a use writes a new one, in milliseconds. */
  readonly slackMs: number;
  /** How many bytes its pages may take before new claims are refused. */
  readonly maxBytes: number;
}

/** An ending, its outcome in its stored form. */
export interface StoredEnding {
  readonly kind: Ending["kind"];
  /** Whether the call counts as started. */
  readonly counted: boolean;
  readonly outcome: OutcomeText | null;
}

/** How many runs' counts of started calls are held in memory. */
const maxCountedRuns = 1000;

/**
 * The records in a SQLite file: the journal's rules over rows, one call at a time and synchronous.
 * Whoever calls the methods that write does so in a transaction; on a rollback it calls
 * {@link SqliteStore.forget}.
 */
export class SqliteStore {
  readonly #clock: JournalClock;
  readonly #epoch: number;
  readonly #options: StoreOptions;
  readonly #statements: StoreStatements;
  /** How many calls of each tool have started, by run; filled when first asked for. */
  readonly #counts = new Map<number, Map<string, number>>();
  /** Look-ups of calls since the last write; only the order of lists depends on them. */
  readonly #usedCalls = new Map<number, number>();
  #writtenClock: number;

  constructor({ db, epoch }: OpenedFile, clock: JournalClock, options: StoreOptions) {
    this.#clock = clock;
    this.#epoch = epoch;
    this.#options = options;
    this.#statements = prepareStore(db);
    this.#writtenClock = clock.now;
  }

  /**
   * Reads a record.
   *
   * @returns also whether the run's stamp is so old that this use must be written, by `touch`
   */
  lookup(key: CallKey): { readonly recorded: RecordedText; readonly stale: boolean } {
    const { run, call } = this.#find(key);
    if (run !== undefined && run.expired !== null) {
      return { recorded: { state: "expired" }, stale: false };
    }
    if (run === undefined || call === undefined) {
      return { recorded: { state: "nothing" }, stale: false };
    }
    this.#usedCalls.set(call.id, this.#clock.now);
    const { toolName, callDigest, manifestDigest, idempotent, attempt, outcome } = call;
    const recorded = {
      state: this.stateOf(call),
      outcome,
      toolName,
      callDigest,
      manifestDigest,
      idempotent,
      attempt,
    };
    return { recorded, stale: this.#isStale(run) };
  }

  /** How many calls of a tool have started in a run. */
  started(key: RunKey, toolName: string): number {
    const row = this.#statements.findRun.get(key.runId, key.principal);
    if (row === undefined) return 0;
    const id = this.#intactRun(key, readRun(row)).id;
    const ofRun = this.#counts.get(id);
    const known = ofRun?.get(toolName);
    if (known !== undefined) return known;
    const count = integer(this.#statements.countStarted.get(id, toolName)?.["count"]);
    if (ofRun === undefined && this.#counts.size >= maxCountedRuns) this.#counts.clear();
    this.#counts.set(id, (ofRun ?? new Map<string, number>()).set(toolName, count));
    return count;
  }

  /** Claims a key; see `Journal.claim`. Writes. */
  claim(claim: Claim): number {
    const { run, call } = this.#find(claim);
    if (run !== undefined && run.expired !== null) throw expired(claim);
    const held = call && { ...call, state: this.stateOf(call) };
    const attempt = attemptOfClaim(claim, held);
    this.#checkSize();

    const runId = run?.id ?? this.#insertRun(claim);
    if (run !== undefined) this.#use(run);
    const next = {
      run: runId,
      callId: claim.callId,
      state: "running",
      epoch: this.#epoch,
      attempt,
      counted: true,
      toolName: claim.toolName,
      callDigest: claim.callDigest,
      manifestDigest: claim.manifestDigest,
      idempotent: claim.idempotent,
      outcome: null,
    } as const;
    if (call === undefined) {
      this.#statements.insertCall.run(
        runId,
        next.callId,
        stateNumber(next.state),
        next.epoch,
        attempt,
        next.toolName,
        next.callDigest,
        next.manifestDigest,
        Number(next.idempotent),
        this.#clock.now,
        sumOfCall(next),
      );
    } else {
      this.#update({ ...next, id: call.id });
    }
    if (call?.counted !== true) this.#count(runId, claim.toolName, 1);
    return attempt;
  }

  /** Ends an attempt; see `Journal.end`. Writes. */
  end(key: CallKey, attempt: number, ending: StoredEnding): "recorded" | "noted" {
    const { run, call } = this.#find(key);
    if (run !== undefined && run.expired !== null) return "noted";
    if (run === undefined || call === undefined) throw neverClaimed(key);
    const held = { ...call, state: this.stateOf(call) };
    const step = stepOfEnd(key, attempt, ending.kind, held, () => isSame(call, ending));
    this.#use(run);
    this.#apply(step, call, attempt, ending);
    return step.kind === "note" ? "noted" : "recorded";
  }

  /** Stamps a run as used now. Writes. */
  touch(key: RunKey): void {
    const row = this.#statements.findRun.get(key.runId, key.principal);
    if (row === undefined) return;
    const run = this.#intactRun(key, readRun(row));
    if (run.expired === null) this.#use(run);
  }

  /**
   * Writes what may wait: the look-ups of calls, and the clock where a second or more has passed.
   *
   * @returns what to do once the transaction is committed
   */
  writeUses(): () => void {
    const { now } = this.#clock;
    for (const [id, used] of this.#usedCalls) this.#statements.useCall.run(used, id);
    const clockMoved = now - this.#writtenClock >= 1000;
    if (clockMoved) {
      this.#statements.writeClock.run(now, sumOfJournal(this.#epoch, now));
    }
    return () => {
      this.#usedCalls.clear();
      if (clockMoved) this.#writtenClock = now;
    };
  }

  /** Whether {@link SqliteStore.writeUses} has anything to write. */
  get hasUses(): boolean {
    return this.#usedCalls.size > 0 || this.#clock.now - this.#writtenClock >= 1000;
  }

  /** Forgets what it holds in memory of the file, after a rollback. */
  forget(): void {
    this.#counts.clear();
  }

  /** Forgets what it holds in memory of a run, when its records go. */
  forgetRun(id: number): void {
    this.#counts.delete(id);
  }

  /** A record's state: one that runs by an earlier owner's claim is lost. */
  stateOf(call: CallRow): RecordState {
    return call.state === "running" && call.epoch !== this.#epoch ? "lost" : call.state;
  }

  #find(key: CallKey): { readonly run?: RunRow; readonly call?: CallRow } {
    const row = this.#statements.find.get(key.callId, key.runId, key.principal);
    if (row === undefined) return {};
    const run = this.#intactRun(key, readRun(row));
    if (row["id"] === null) return { run };
    const { call, intact } = readCall(row);
    if (!intact || call.callId !== key.callId) throw damagedCall(key);
    return { run, call };
  }

  #intactRun(key: RunKey, read: ReturnType<typeof readRun>): RunRow {
    const { run, intact } = read;
    if (intact && run.runId === key.runId && run.principal === key.principal) return run;
    throw damagedRun(key);
  }

  #apply(step: EndStep, call: CallRow, attempt: number, ending: StoredEnding): void {
    if (step.kind === "same") return;
    if (step.kind === "note") {
      if (ending.outcome !== null) this.#note(call.id, attempt, ending.outcome);
      return;
    }
    this.#update({ ...call, state: step.state, counted: ending.counted, outcome: ending.outcome });
    if (call.counted !== ending.counted) {
      this.#count(call.run, call.toolName, ending.counted ? 1 : -1);
    }
  }

  #note(call: number, attempt: number, outcome: OutcomeText): void {
    for (const row of this.#statements.notes.iterate(call)) {
      const { note } = readNote(row);
      if (note.attempt === attempt && sameOutcome(note.outcome, outcome)) return;
    }
    const sum = sumOfNote({ call, attempt, outcome });
    this.#statements.insertNote.run(call, attempt, outcome.text, outcome.parts, sum);
  }

  #update(call: Omit<CallRow, "used">): void {
    this.#statements.updateCall.run(
      stateNumber(call.state),
      call.epoch,
      call.attempt,
      Number(call.counted),
      call.manifestDigest,
      Number(call.idempotent),
      call.outcome?.text ?? null,
      call.outcome?.parts ?? null,
      this.#clock.now,
      sumOfCall(call),
      call.id,
    );
    this.#usedCalls.delete(call.id);
  }

  #insertRun({ principal, runId }: RunKey): number {
    const id = integer(this.#statements.nextRun.get()?.["id"]);
    const run = { id, principal, runId, used: this.#clock.now, expired: null };
    this.#statements.insertRun.run(id, principal, runId, run.used, sumOfRun(run));
    return id;
  }

  #use(run: RunRow): void {
    if (!this.#isStale(run)) return;
    const used = this.#clock.now;
    this.#statements.useRun.run(used, sumOfRun({ ...run, used }), run.id);
  }

  #isStale(run: RunRow): boolean {
    return this.#clock.now - run.used > this.#options.slackMs;
  }

  #count(run: number, toolName: string, change: number): void {
    const ofRun = this.#counts.get(run);
    const count = ofRun?.get(toolName);
    if (count !== undefined) ofRun?.set(toolName, count + change);
  }

  #checkSize(): void {
    const { maxBytes } = this.#options;
    if (maxBytes === Number.POSITIVE_INFINITY) return;
    const { pageCount, freePages, pageSize } = this.#statements;
    const pages =
      integer(pageCount.get()?.["page_count"]) - integer(freePages.get()?.["freelist_count"]);
    const bytes = pages * integer(pageSize.get()?.["page_size"]);
    if (bytes >= maxBytes) throw full(bytes, maxBytes);
  }
}

function isSame(call: CallRow, ending: StoredEnding): boolean {
  if (call.outcome === null || ending.outcome === null) return false;
  return sameOutcome(call.outcome, ending.outcome);
}
