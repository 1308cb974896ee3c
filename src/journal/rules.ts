import type { Outcome } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import type { CallKey, Claim, Ending, RunKey } from "./journal.ts";

/** The states that a record can be in. */
export type RecordState = "running" | "released" | "lost" | "done";

/** What the rules need to know of a record. */
export interface Held {
  readonly state: RecordState;
  readonly attempt: number;
  readonly callDigest: string;
}

/** What an ending does to a record. */
export type EndStep =
  /** The record moves on to this state. */
  | { readonly kind: "move"; readonly state: "released" | "lost" | "done" }
  /** It is recorded already. */
  | { readonly kind: "same" }
  /** The key has moved on; an outcome is kept for people to see. */
  | { readonly kind: "note" };

/**
 * Which attempt a claim begins.
 *
 * @throws ToolPortError `CALL_ID_REUSED` where the record is of another call, `INTERNAL` where the
 *   record is running or done
 */
export function attemptOfClaim(claim: Claim, held: Held | undefined): number {
  if (held === undefined) return 1;
  if (held.callDigest !== claim.callDigest) {
    throw new ToolPortError(
      "CALL_ID_REUSED",
      `call id ${quote(claim.callId)} was used for another call in run ${quote(claim.runId)}`,
    );
  }
  if (held.state === "released") return held.attempt;
  if (held.state === "lost") return held.attempt + 1;
  throw defect(claim, `cannot be claimed: it is ${held.state}`);
}

/**
 * What becomes of a record when an attempt ends.
 *
 * @param isRecorded whether the outcome of the ending is the one that the record holds
 * @throws ToolPortError `INTERNAL` where the attempt was never claimed, or was released before
 */
export function stepOfEnd(
  key: CallKey,
  attempt: number,
  ending: Ending["kind"],
  held: Held,
  isRecorded: () => boolean,
): EndStep {
  if (!(attempt >= 1 && attempt <= held.attempt)) {
    throw defect(key, `cannot end attempt ${attempt}: it is at attempt ${held.attempt}`);
  }
  if (attempt < held.attempt) return { kind: "note" };
  const to = ending === "outcome" ? "done" : ending;
  if (held.state === "running") return { kind: "move", state: to };
  if (held.state === "done") {
    return to === "done" && isRecorded() ? { kind: "same" } : { kind: "note" };
  }
  if (held.state === "released") {
    if (to !== "released") throw defect(key, "cannot end: its attempt was released");
    return { kind: "same" };
  }
  if (to === "released") throw defect(key, "cannot be released: its tool has started");
  return to === "done" ? { kind: "move", state: "done" } : { kind: "same" };
}

/** Whether a call counts as started: see {@link Journal.started}. */
export function hasStarted(
  state: RecordState,
  attempt: number,
  outcome: Outcome | undefined,
): boolean {
  if (state === "released") return attempt > 1;
  if (outcome === undefined || outcome.attempt > 0) return true;
  return !outcome.ok && outcome.errorKind === "INDETERMINATE";
}

/** An ending of a call that has no record. */
export function neverClaimed(key: CallKey): ToolPortError {
  return defect(key, "cannot end: it was never claimed");
}

/**
 * Refuses ids that a record could not be told apart by.
 *
 * @throws ToolPortError `REQUEST_INVALID`
 */
export function checkIds(run: RunKey, callId?: string): void {
  checkId("run id", run.runId);
  if (callId !== undefined) checkId("call id", callId);
  if (!run.principal.isWellFormed()) {
    throw new ToolPortError("REQUEST_INVALID", "the principal's name is not well-formed Unicode");
  }
}

/** A key's text in messages. */
export function quote(id: string): string {
  return JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}…` : id);
}

function checkId(what: string, id: string): void {
  if (id === "") throw new ToolPortError("REQUEST_INVALID", `the ${what} is empty; give one`);
  if (!id.isWellFormed()) {
    throw new ToolPortError(
      "REQUEST_INVALID",
      `the ${what} ${quote(id)} is not well-formed Unicode`,
    );
  }
}

function defect(key: CallKey, what: string): ToolPortError {
  return new ToolPortError(
    "INTERNAL",
    `the record of call ${quote(key.callId)} in run ${quote(key.runId)} ${what}`,
  );
}
