import { hash } from "node:crypto";

import type { CallKey, Claim, Pruned, RunKey } from "./journal.ts";
import type { OutcomeText } from "./outcome-text.ts";
import { decodeOutcome } from "./outcome-text.ts";
import type { RecordState } from "./rules.ts";
import { hasStarted } from "./rules.ts";

// I1  The map of runs is in the order of their last use, so that the longest idle come first.
// I2  `bytes` counts every record, outcome and note from when it is added until it goes, and what
//     stays of those that went early.
// I3  A key whose record has gone is known as such for as long as its run or the run's tombstone is:
//     it is expired, never nothing.

/** One call's record. */
export interface MemoryCall {
  readonly claim: Claim;
  state: RecordState;
  attempt: number;
  outcome: OutcomeText | undefined;
  notes: { readonly attempt: number; readonly outcome: OutcomeText }[];
  used: number;
}

/** One run's records. */
export interface MemoryRun extends RunKey {
  used: number;
  readonly calls: Map<string, MemoryCall>;
  /** The calls whose records have gone to make room, by a hash of their ids. */
  readonly forgotten: Set<number>;
  /** How many of those had started, by tool. */
  readonly forgottenStarts: Map<string, number>;
}

/** How long a run that was said to be live counts as such, in milliseconds. */
const liveMs = 150_000;

/** Much is let go at once, so that not every claim has to look for what can go. */
const roomShare = 1 / 8;
const tombstoneShare = 1 / 4;

/** The records of a journal in memory, how much they take, and what goes when. */
export class MemoryRuns {
  readonly #runs = new Map<string, MemoryRun>();
  /** When the records of a run went, the longest gone first. */
  readonly #tombstones = new Map<string, number>();
  readonly #live = new Map<string, number>();
  readonly #maxBytes: number;
  readonly #forgets: boolean;
  #bytes = 0;
  #tombstoneBytes = 0;

  constructor(maxBytes: number, forgets: boolean) {
    this.#maxBytes = maxBytes;
    this.#forgets = forgets;
  }

  /** What everything takes, estimated. */
  get bytes(): number {
    return this.#bytes + this.#tombstoneBytes;
  }

  get isFull(): boolean {
    return this.bytes >= this.#maxBytes;
  }

  /** The runs that have records. */
  get all(): Iterable<MemoryRun> {
    return this.#runs.values();
  }

  find(key: RunKey): MemoryRun | undefined {
    return this.#runs.get(runText(key));
  }

  findCall(key: CallKey): { readonly run: MemoryRun; readonly call: MemoryCall } | undefined {
    const run = this.find(key);
    const call = run?.calls.get(key.callId);
    return run && call && { run, call };
  }

  /** Whether the record of a key has gone, alone or with its run. */
  hasExpired(key: CallKey): boolean {
    const text = runText(key);
    if (this.#tombstones.has(text)) return true;
    const forgotten = this.#runs.get(text)?.forgotten;
    return forgotten !== undefined && forgotten.size > 0 && forgotten.has(hashOf(key.callId));
  }

  /** The run, made where there is none. */
  open({ principal, runId }: RunKey): MemoryRun {
    const text = runText({ principal, runId });
    const known = this.#runs.get(text);
    if (known) return known;
    const run: MemoryRun = {
      principal,
      runId,
      used: 0,
      calls: new Map(),
      forgotten: new Set(),
      forgottenStarts: new Map(),
    };
    this.#runs.set(text, run);
    return run;
  }

  /** Takes note of a use. */
  use(run: MemoryRun, now: number): void {
    run.used = now;
    const text = runText(run);
    this.#runs.delete(text);
    this.#runs.set(text, run);
  }

  /** Takes note that the run is live. */
  touch(key: RunKey, now: number): void {
    const run = this.#runs.get(runText(key));
    if (run !== undefined) this.use(run, now);
    if (this.#forgets) this.#live.set(runText(key), now);
  }

  /** Records, outcomes or notes have been added. */
  grow(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Lets go of what may go, where all takes too much; `run` is in use. */
  makeRoom(now: number, run: MemoryRun): void {
    if (!this.#forgets || !this.isFull) return;
    const enough = this.#maxBytes * (1 - roomShare);
    this.#forgetTombstones();
    for (const idle of this.#runs.values()) {
      if (this.bytes <= enough) return;
      if (idle !== run && !this.#isLive(idle, now)) this.#expire(idle, now);
    }
    for (const live of this.#runs.values()) {
      for (const call of live.calls.values()) {
        if (this.bytes <= enough) return;
        if (call.state !== "running") this.#forget(live, call);
      }
    }
  }

  /** Removes what retention has passed. */
  prune(now: number, retentionMs: number, tombstoneMs: number): Pruned {
    for (const [text, since] of this.#tombstones) {
      if (now - since > tombstoneMs) this.#removeTombstone(text);
    }
    for (const [text, touched] of this.#live) {
      if (now - touched > liveMs) this.#live.delete(text);
    }
    let records = 0;
    let runs = 0;
    for (const run of this.#runs.values()) {
      if (now - run.used <= retentionMs || hasRunning(run)) continue;
      records += run.calls.size;
      runs++;
      this.#expire(run, now);
    }
    return { records, runs };
  }

  clear(): void {
    this.#runs.clear();
    this.#tombstones.clear();
    this.#live.clear();
  }

  #isLive(run: MemoryRun, now: number): boolean {
    const touched = this.#live.get(runText(run));
    return (touched !== undefined && now - touched <= liveMs) || hasRunning(run);
  }

  /** The run goes as a whole. */
  #expire(run: MemoryRun, now: number): void {
    for (const call of run.calls.values()) this.#bytes -= bytesOf(call);
    this.#bytes -= forgottenBytes * run.forgotten.size;
    run.calls.clear();
    const text = runText(run);
    this.#runs.delete(text);
    this.#tombstones.set(text, now);
    this.#tombstoneBytes += tombstoneBytes(text);
    if (this.#forgets) this.#forgetTombstones();
  }

  /** One record of a run goes. */
  #forget(run: MemoryRun, call: MemoryCall): void {
    const { callId, toolName } = call.claim;
    run.calls.delete(callId);
    run.forgotten.add(hashOf(callId));
    this.#bytes += forgottenBytes - bytesOf(call);
    if (!countsAsStarted(call)) return;
    run.forgottenStarts.set(toolName, (run.forgottenStarts.get(toolName) ?? 0) + 1);
  }

  #forgetTombstones(): void {
    for (const text of this.#tombstones.keys()) {
      if (this.#tombstoneBytes <= this.#maxBytes * tombstoneShare) return;
      this.#removeTombstone(text);
    }
  }

  #removeTombstone(text: string): void {
    this.#tombstones.delete(text);
    this.#tombstoneBytes -= tombstoneBytes(text);
  }
}

/** Whether a call counts as started: see {@link Journal.started}. */
export function countsAsStarted({ state, attempt, outcome }: MemoryCall): boolean {
  return hasStarted(state, attempt, outcome && decodeOutcome(outcome, false));
}

// A string takes two bytes a character at most; the rest is a guess at what the objects take.

/** What a record takes without its outcome, in bytes. */
export function recordBytes(claim: Claim): number {
  const { principal, runId, callId, toolName } = claim;
  return 600 + 2 * (principal.length + runId.length + callId.length + toolName.length);
}

/** What an outcome takes, in bytes. */
export function outcomeBytes(outcome: OutcomeText): number {
  return 2 * outcome.text.length + (outcome.parts?.byteLength ?? 0);
}

const forgottenBytes = 48;

function tombstoneBytes(text: string): number {
  return 100 + 2 * text.length;
}

function bytesOf(call: MemoryCall): number {
  let bytes = recordBytes(call.claim);
  if (call.outcome !== undefined) bytes += outcomeBytes(call.outcome);
  for (const note of call.notes) bytes += outcomeBytes(note.outcome);
  return bytes;
}

function hasRunning(run: MemoryRun): boolean {
  for (const call of run.calls.values()) if (call.state === "running") return true;
  return false;
}

function runText(run: RunKey): string {
  return `${run.principal.length}:${run.principal}${run.runId}`;
}

/** 48 bits, so that not even among millions one id is likely taken for another. */
function hashOf(callId: string): number {
  return hash("sha256", callId, "buffer").readUIntBE(0, 6);
}
