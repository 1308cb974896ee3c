import type { Outcome } from "../domain/call.ts";
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
import type { OutcomeText } from "./outcome-text.ts";
import { decodeOutcome, encodeOutcome, sameOutcome } from "./outcome-text.ts";
import type { Retention } from "./retention.ts";
import {
  defaultRetentionMs,
  defaultTombstoneMs,
  housekeepingMs,
  JournalClock,
} from "./retention.ts";
import type { RecordState } from "./rules.ts";
import { attemptOfClaim, checkIds, hasStarted, neverClaimed, stepOfEnd } from "./rules.ts";

/** How a journal in memory is kept. */
export interface MemoryJournalOptions extends Retention {
  /** How much its records may take, estimated, in bytes; no bound by default. */
  readonly maxBytes?: number;
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

interface MemoryCall {
  readonly claim: Claim;
  state: RecordState;
  attempt: number;
  outcome: OutcomeText | undefined;
  notes: { readonly attempt: number; readonly outcome: OutcomeText }[];
  used: number;
}

interface MemoryRun extends RunKey {
  used: number;
  /** When its records were pruned. */
  expired: number | undefined;
  readonly calls: Map<string, MemoryCall>;
}

class MemoryJournal implements Journal {
  readonly #runs = new Map<string, MemoryRun>();
  readonly #retentionMs: number;
  readonly #tombstoneMs: number;
  readonly #maxBytes: number;
  readonly #read: () => number;
  readonly #clock: JournalClock;
  readonly #housekeeping: NodeJS.Timeout;
  #bytes = 0;
  #closed = false;

  constructor(options: MemoryJournalOptions) {
    this.#retentionMs = options.retentionMs ?? defaultRetentionMs;
    this.#tombstoneMs = options.tombstoneMs ?? defaultTombstoneMs;
    this.#maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    this.#read = options.clock ?? (() => performance.now());
    this.#clock = new JournalClock(0, this.#read());
    this.#housekeeping = setInterval(() => this.#prune(), housekeepingMs(this.#retentionMs));
    this.#housekeeping.unref();
  }

  async lookup(key: CallKey): Promise<Recorded> {
    const now = this.#begin(key, key.callId);
    const run = this.#runs.get(runText(key));
    if (run?.expired !== undefined) return { state: "expired" };
    const call = run?.calls.get(key.callId);
    if (run === undefined || call === undefined) return { state: "nothing" };
    run.used = call.used = now;
    const { claim, attempt, state, outcome } = call;
    const { toolName, callDigest, manifestDigest, idempotent } = claim;
    const recorded = { toolName, callDigest, manifestDigest, idempotent, attempt };
    if (state !== "done") return { state, ...recorded };
    if (outcome === undefined) throw new TypeError("a record is done and has no outcome");
    return { state, outcome: decodeOutcome(outcome, true), ...recorded };
  }

  async claim(claim: Claim): Promise<{ readonly attempt: number }> {
    const now = this.#begin(claim, claim.callId);
    const run = this.#runs.get(runText(claim));
    if (run?.expired !== undefined) throw expired(claim);
    const held = run?.calls.get(claim.callId);
    const attempt = attemptOfClaim(
      claim,
      held && { state: held.state, attempt: held.attempt, callDigest: held.claim.callDigest },
    );
    if (this.#bytes >= this.#maxBytes) throw full(this.#bytes, this.#maxBytes);
    const kept = run ?? this.#newRun(claim);
    kept.used = now;
    kept.calls.set(claim.callId, {
      claim: { ...claim },
      state: "running",
      attempt,
      outcome: undefined,
      notes: held?.notes ?? [],
      used: now,
    });
    if (held === undefined) this.#bytes += recordBytes(claim);
    return { attempt };
  }

  async end(key: CallKey, attempt: number, ending: Ending): Promise<"recorded" | "noted"> {
    const now = this.#begin(key, key.callId);
    const run = this.#runs.get(runText(key));
    if (run?.expired !== undefined) return "noted";
    const call = run?.calls.get(key.callId);
    if (run === undefined || call === undefined) throw neverClaimed(key);
    const outcome = ending.kind === "outcome" ? encodeOutcome(ending.outcome) : undefined;
    const step = stepOfEnd(
      key,
      attempt,
      ending.kind,
      { state: call.state, attempt: call.attempt, callDigest: call.claim.callDigest },
      () =>
        outcome !== undefined && call.outcome !== undefined && sameOutcome(outcome, call.outcome),
    );
    run.used = call.used = now;
    if (step.kind === "same") return "recorded";
    if (step.kind === "note") {
      if (outcome !== undefined) this.#note(call, attempt, outcome);
      return "noted";
    }
    if (outcome !== undefined) this.#bytes += outcomeBytes(outcome);
    call.state = step.state;
    call.outcome = outcome;
    return "recorded";
  }

  async started(key: RunKey, toolName: string): Promise<number> {
    this.#begin(key);
    let count = 0;
    for (const call of this.#runs.get(runText(key))?.calls.values() ?? []) {
      if (call.claim.toolName !== toolName) continue;
      if (hasStarted(call.state, call.attempt, readOutcome(call.outcome))) count++;
    }
    return count;
  }

  async touch(key: RunKey): Promise<void> {
    const now = this.#begin(key);
    const run = this.#runs.get(runText(key));
    if (run !== undefined && run.expired === undefined) run.used = now;
  }

  async list(filter: ListFilter = {}): Promise<readonly Entry[]> {
    const now = this.#begin();
    const found: { readonly run: MemoryRun; readonly call: MemoryCall }[] = [];
    for (const run of this.#runs.values()) {
      if (filter.runId !== undefined && run.runId !== filter.runId) continue;
      for (const call of run.calls.values()) {
        if (filter.callId === undefined || call.claim.callId === filter.callId) {
          found.push({ run, call });
        }
      }
    }
    found.sort((a, b) => b.call.used - a.call.used);
    return found.slice(0, filter.limit ?? 100).map(({ call }) => ({
      ...call.claim,
      state: call.state,
      attempt: call.attempt,
      outcome: readOutcome(call.outcome),
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

  #note(call: MemoryCall, attempt: number, outcome: OutcomeText): void {
    const known = call.notes.some(
      (note) => note.attempt === attempt && sameOutcome(note.outcome, outcome),
    );
    if (known) return;
    this.#bytes += outcomeBytes(outcome);
    call.notes.push({ attempt, outcome });
  }

  #newRun({ principal, runId }: RunKey): MemoryRun {
    const run: MemoryRun = { principal, runId, used: 0, expired: undefined, calls: new Map() };
    this.#runs.set(runText(run), run);
    return run;
  }

  #prune(): Pruned {
    const now = this.#clock.advance(this.#read());
    let records = 0;
    let runs = 0;
    for (const [text, run] of this.#runs) {
      if (run.expired !== undefined) {
        if (now - run.expired > this.#tombstoneMs) this.#runs.delete(text);
        continue;
      }
      if (now - run.used <= this.#retentionMs) continue;
      const calls = [...run.calls.values()];
      if (calls.some((call) => call.state === "running")) continue;
      for (const call of calls) {
        this.#bytes -= recordBytes(call.claim);
        if (call.outcome !== undefined) this.#bytes -= outcomeBytes(call.outcome);
        for (const note of call.notes) this.#bytes -= outcomeBytes(note.outcome);
      }
      records += calls.length;
      runs++;
      run.calls.clear();
      run.expired = now;
    }
    return { records, runs };
  }
}

function runText(run: RunKey): string {
  return `${run.principal.length}:${run.principal}${run.runId}`;
}

function readOutcome(outcome: OutcomeText | undefined): Outcome | undefined {
  return outcome === undefined ? undefined : decodeOutcome(outcome, false);
}

// A string takes two bytes a character at most; the rest is a guess at what the objects take.
function recordBytes(claim: Claim): number {
  const { principal, runId, callId, toolName } = claim;
  return 600 + 2 * (principal.length + runId.length + callId.length + toolName.length);
}

function outcomeBytes(outcome: OutcomeText): number {
  return 2 * outcome.text.length + (outcome.parts?.byteLength ?? 0);
}
