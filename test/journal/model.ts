import type { Outcome } from "../../src/domain/call.ts";
import type { CallKey, Claim, Ending, Pruned, RunKey } from "../../src/journal/journal.ts";

/** How long the model keeps records, in milliseconds. */
export const retentionMs = 1_000_000;

/** How long it keeps tombstones after that, in milliseconds. */
export const tombstoneMs = 10_000_000;

/** A record of the model. */
export interface ModelCall {
  state: "running" | "released" | "lost" | "done";
  attempt: number;
  readonly callDigest: string;
  readonly toolName: string;
  outcome: Outcome | undefined;
  readonly notes: Set<string>;
}

interface ModelRun {
  used: number;
  expired: number | undefined;
  readonly calls: Map<string, ModelCall>;
}

/** What a journal should answer, as simply as it can be said: answers are values, errors codes. */
export class JournalModel {
  now = 0;
  readonly runs: Map<string, ModelRun> = new Map();

  /** The record of a key. */
  call(key: CallKey): ModelCall | undefined {
    return this.runs.get(key.runId)?.calls.get(key.callId);
  }

  lookup(key: CallKey): string {
    const run = this.runs.get(key.runId);
    if (run?.expired !== undefined) return "expired";
    const call = this.call(key);
    if (run === undefined || call === undefined) return "nothing";
    run.used = this.now;
    return describe(call);
  }

  claim(claim: Claim): number | string {
    const run = this.runs.get(claim.runId);
    if (run?.expired !== undefined) return "RUN_EXPIRED";
    const call = this.call(claim);
    if (call !== undefined && call.callDigest !== claim.callDigest) return "CALL_ID_REUSED";
    if (call?.state === "running" || call?.state === "done") return "INTERNAL";
    const attempt = call === undefined ? 1 : call.attempt + (call.state === "lost" ? 1 : 0);
    const kept: ModelRun = run ?? { used: 0, expired: undefined, calls: new Map() };
    this.runs.set(claim.runId, kept);
    kept.used = this.now;
    kept.calls.set(claim.callId, {
      state: "running",
      attempt,
      callDigest: claim.callDigest,
      toolName: claim.toolName,
      outcome: undefined,
      notes: call?.notes ?? new Set(),
    });
    return attempt;
  }

  end(key: CallKey, attempt: number, ending: Ending): string {
    const run = this.runs.get(key.runId);
    if (run?.expired !== undefined) return "noted";
    const call = this.call(key);
    if (run === undefined || call === undefined) return "INTERNAL";
    if (attempt < 1 || attempt > call.attempt) return "INTERNAL";
    const outcome = ending.kind === "outcome" ? ending.outcome : undefined;
    const answer = attempt < call.attempt ? "noted" : endNow(call, ending.kind, outcome);
    if (answer === "INTERNAL") return answer;
    run.used = this.now;
    if (answer === "noted" && outcome) call.notes.add(`${attempt} ${text(outcome)}`);
    return answer;
  }

  started(run: RunKey, toolName: string): number {
    const calls = [...(this.runs.get(run.runId)?.calls.values() ?? [])];
    return calls.filter((call) => call.toolName === toolName && hasStarted(call)).length;
  }

  prune(): Pruned {
    let records = 0;
    let runs = 0;
    for (const [id, run] of this.runs) {
      if (run.expired !== undefined) {
        if (this.now - run.expired > tombstoneMs) this.runs.delete(id);
      } else if (this.now - run.used > retentionMs) {
        if ([...run.calls.values()].some((call) => call.state === "running")) {
          run.used = this.now;
          continue;
        }
        records += run.calls.size;
        runs++;
        run.calls.clear();
        run.expired = this.now;
      }
    }
    return { records, runs };
  }

  /** Another owner takes over. */
  restart(): void {
    for (const run of this.runs.values()) {
      for (const call of run.calls.values()) if (call.state === "running") call.state = "lost";
    }
  }

  /** All records, one line each. */
  lines(): readonly string[] {
    return [...this.runs]
      .flatMap(([runId, run]) =>
        [...run.calls].map(([callId, call]) =>
          [runId, callId, describe(call), ...[...call.notes].toSorted()].join(" "),
        ),
      )
      .toSorted();
  }
}

/** An outcome as one line. */
export function text(outcome: Outcome): string {
  return outcome.ok ? outcome.result : outcome.errorKind;
}

function describe(call: ModelCall): string {
  const outcome = call.outcome === undefined ? "" : ` ${text(call.outcome)}`;
  return `${call.state} ${call.attempt}${outcome}`;
}

function endNow(
  call: ModelCall,
  kind: Ending["kind"],
  outcome: Outcome | undefined,
): "recorded" | "noted" | "INTERNAL" {
  switch (call.state) {
    case "done":
      return outcome && call.outcome && text(outcome) === text(call.outcome) ? "recorded" : "noted";
    case "released":
      return kind === "released" ? "recorded" : "INTERNAL";
    case "lost":
      if (kind === "released") return "INTERNAL";
      break;
    case "running":
      break;
  }
  call.state = kind === "outcome" ? "done" : kind;
  call.outcome = outcome;
  return "recorded";
}

function hasStarted(call: ModelCall): boolean {
  if (call.state === "released") return call.attempt > 1;
  if (call.outcome === undefined) return true;
  return call.outcome.attempt > 0 || text(call.outcome) === "INDETERMINATE";
}
