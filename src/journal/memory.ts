import { closed, expired, full } from "./faults.ts";
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
import type { MemoryCall, MemoryRun } from "./memory-runs.ts";
import { countsAsStarted, MemoryRuns, outcomeBytes, recordBytes } from "./memory-runs.ts";
import type { OutcomeText } from "./outcome-text.ts";
import { decodeOutcome, encodeOutcome, sameOutcome } from "./outcome-text.ts";
import type { Retention } from "./retention.ts";
import {
  defaultRetentionMs,
  defaultTombstoneMs,
  housekeepingMs,
  JournalClock,
} from "./retention.ts";
import { attemptOfClaim, checkIds, neverClaimed, stepOfEnd } from "./rules.ts";

/** How a journal in memory is kept. */
export interface MemoryJournalOptions extends Retention {
  /** How much its records may take, estimated, in bytes; no bound by default. */
  readonly maxBytes?: number;
  /**
   * What a claim past `maxBytes` does. `refuse`, the default, ends it with `JOURNAL_UNAVAILABLE`, as
   * the durable journal does.
   *
   * `forget` makes room instead, before retention has passed. The runs that have been idle longest go
   * first, each as a whole, and a key of theirs is `RUN_EXPIRED` from then on, never a new start. A
   * run with a running call, or that was said to be live within the last minutes, stays; should
   * such runs alone take more than the bound, their oldest outcomes go, and only the keys of those
   * are `RUN_EXPIRED`. A claim is refused where even that makes no room. What is left of a run that
   * has gone takes a quarter of the bound at most; past that the longest gone are forgotten, and
   * their ids start anew.
   */
  readonly whenFull?: "refuse" | "forget";
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  readonly clock?: () => number;
}

/**
 * A journal that lives as long as its process: the same rules and answers as the durable one, and
 * nothing on the disk.
 */
export function memoryJournal(options: MemoryJournalOptions = {}): Journal {
  return new MemoryJournal(options);
}

class MemoryJournal implements Journal {
  readonly isDurable = false;
  readonly #runs: MemoryRuns;
  readonly #retentionMs: number;
  readonly #tombstoneMs: number;
  readonly #maxBytes: number;
  readonly #read: () => number;
  readonly #clock: JournalClock;
  readonly #housekeeping: NodeJS.Timeout;
  #closed = false;

  constructor(options: MemoryJournalOptions) {
    this.#retentionMs = options.retentionMs ?? defaultRetentionMs;
    this.#tombstoneMs = options.tombstoneMs ?? defaultTombstoneMs;
    this.#maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    this.#runs = new MemoryRuns(this.#maxBytes, options.whenFull === "forget");
    this.#read = options.clock ?? (() => performance.now());
    this.#clock = new JournalClock(0, this.#read());
    this.#housekeeping = setInterval(() => this.#prune(), housekeepingMs(this.#retentionMs));
    this.#housekeeping.unref();
  }

  async lookup(key: CallKey): Promise<Recorded> {
    const now = this.#begin(key, key.callId);
    if (this.#runs.hasExpired(key)) return { state: "expired" };
    const found = this.#runs.findCall(key);
    if (found === undefined) return { state: "nothing" };
    const { run, call } = found;
    this.#use(run, call, now);
    const { claim, attempt, state, outcome } = call;
    const { toolName, callDigest, manifestDigest, idempotent } = claim;
    const recorded = { toolName, callDigest, manifestDigest, idempotent, attempt };
    if (state !== "done") return { state, ...recorded };
    if (outcome === undefined) throw new TypeError("a record is done and has no outcome");
    return { state, outcome: decodeOutcome(outcome, true), ...recorded };
  }

  async claim(claim: Claim): Promise<{ readonly attempt: number }> {
    const now = this.#begin(claim, claim.callId);
    if (this.#runs.hasExpired(claim)) throw expired(claim);
    const held = this.#runs.findCall(claim)?.call;
    const attempt = attemptOfClaim(
      claim,
      held && { state: held.state, attempt: held.attempt, callDigest: held.claim.callDigest },
    );
    const run = this.#runs.open(claim);
    this.#runs.makeRoom(now, run);
    if (this.#runs.isFull) throw full(this.#runs.bytes, this.#maxBytes);
    const call: MemoryCall = {
      claim: { ...claim },
      state: "running",
      attempt,
      outcome: undefined,
      notes: held?.notes ?? [],
      used: now,
    };
    run.calls.set(claim.callId, call);
    this.#use(run, call, now);
    if (held === undefined) this.#runs.grow(recordBytes(claim));
    return { attempt };
  }

  async end(key: CallKey, attempt: number, ending: Ending): Promise<"recorded" | "noted"> {
    const now = this.#begin(key, key.callId);
    if (this.#runs.hasExpired(key)) return "noted";
    const found = this.#runs.findCall(key);
    if (found === undefined) throw neverClaimed(key);
    const { run, call } = found;
    const outcome = ending.kind === "outcome" ? encodeOutcome(ending.outcome) : undefined;
    const step = stepOfEnd(
      key,
      attempt,
      ending.kind,
      { state: call.state, attempt: call.attempt, callDigest: call.claim.callDigest },
      () =>
        outcome !== undefined && call.outcome !== undefined && sameOutcome(outcome, call.outcome),
    );
    this.#use(run, call, now);
    if (step.kind === "same") return "recorded";
    if (step.kind === "note") {
      if (outcome !== undefined) this.#note(call, attempt, outcome);
      return "noted";
    }
    if (outcome !== undefined) this.#runs.grow(outcomeBytes(outcome));
    call.state = step.state;
    call.outcome = outcome;
    return "recorded";
  }

  async started(key: RunKey, toolName: string): Promise<number> {
    this.#begin(key);
    const run = this.#runs.find(key);
    let count = run?.forgottenStarts.get(toolName) ?? 0;
    for (const call of run?.calls.values() ?? []) {
      if (call.claim.toolName === toolName && countsAsStarted(call)) count++;
    }
    return count;
  }

  async touch(key: RunKey): Promise<void> {
    this.#runs.touch(key, this.#begin(key));
  }

  async list(filter: ListFilter = {}): Promise<readonly Entry[]> {
    const now = this.#begin();
    const found: MemoryCall[] = [];
    for (const run of this.#runs.all) {
      if (filter.runId !== undefined && run.runId !== filter.runId) continue;
      for (const call of run.calls.values()) {
        if (filter.callId === undefined || call.claim.callId === filter.callId) found.push(call);
      }
    }
    found.sort((a, b) => b.used - a.used);
    return found.slice(0, filter.limit ?? 100).map((call) => ({
      ...call.claim,
      state: call.state,
      attempt: call.attempt,
      outcome: call.outcome && decodeOutcome(call.outcome, false),
      notes: call.notes.map((note) => ({
        attempt: note.attempt,
        outcome: decodeOutcome(note.outcome, false),
      })),
      idleMs: now - call.used,
    }));
  }

  async prune(): Promise<Pruned> {
    this.#begin();
    return this.#prune();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#housekeeping);
    this.#runs.clear();
  }

  #begin(run?: RunKey, callId?: string): number {
    if (this.#closed) throw closed();
    if (run !== undefined) checkIds(run, callId);
    return this.#clock.advance(this.#read());
  }

  #use(run: MemoryRun, call: MemoryCall, now: number): void {
    call.used = now;
    this.#runs.use(run, now);
  }

  #note(call: MemoryCall, attempt: number, outcome: OutcomeText): void {
    const known = call.notes.some(
      (note) => note.attempt === attempt && sameOutcome(note.outcome, outcome),
    );
    if (known) return;
    this.#runs.grow(outcomeBytes(outcome));
    call.notes.push({ attempt, outcome });
  }

  #prune(): Pruned {
    const now = this.#clock.advance(this.#read());
    return this.#runs.prune(now, this.#retentionMs, this.#tombstoneMs);
  }
}
