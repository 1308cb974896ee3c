import type { Started } from "../errors.ts";
import { ToolPortError } from "../errors.ts";
import type { CallKey, RunKey } from "./journal.ts";
import { quote } from "./rules.ts";

/** The journal cannot do what was asked; `reason` completes "the journal …". */
export function unavailable(reason: string, started: Started = "no"): ToolPortError {
  return new ToolPortError("JOURNAL_UNAVAILABLE", `the journal ${reason}`, { started });
}

/** The journal has been closed. */
export function closed(): ToolPortError {
  return unavailable("is closed");
}

/** The size bound is reached. */
export function full(bytes: number, maxBytes: number): ToolPortError {
  return unavailable(
    `is full: its records take ${bytes} bytes of the ${maxBytes} that it may (maxBytes); ` +
      `raise the limit, or ask again once retention has passed some of them`,
  );
}

/** The run's records have been pruned. */
export function expired(run: RunKey): ToolPortError {
  return new ToolPortError(
    "RUN_EXPIRED",
    `the records of run ${quote(run.runId)} have been pruned; use a new run id`,
  );
}

/** A record of a call does not match its checksum. */
export function damagedCall(key: CallKey): ToolPortError {
  return unavailable(
    `cannot read the record of call ${quote(key.callId)} in run ${quote(key.runId)}: it is damaged ` +
      `on the disk; restore the journal from a copy, or use a new run id`,
  );
}

/** A record of a run does not match its checksum. */
export function damagedRun(run: RunKey): ToolPortError {
  return unavailable(
    `cannot read the record of run ${quote(run.runId)}: it is damaged on the disk; ` +
      `restore the journal from a copy, or use a new run id`,
  );
}
