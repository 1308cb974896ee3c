import type { Outcome } from "../../src/domain/call.ts";
import type { CallKey, Claim } from "../../src/journal/journal.ts";

/** A key of run `r` by principal `kernel`, unless said otherwise. */
export function keyOf(callId: string, runId = "r", principal = "kernel"): CallKey {
  return { principal, runId, callId };
}

/** A claim of that key by a tool that is not idempotent, unless said otherwise. */
export function claimOf(key: CallKey, change: Partial<Claim> = {}): Claim {
  return {
    ...key,
    toolName: "pay",
    callDigest: `sha256:${"a".repeat(64)}`,
    manifestDigest: `sha256:${"b".repeat(64)}`,
    idempotent: false,
    ...change,
  };
}

/** A success with that text. */
export function success(result: string, attempt = 1): Outcome {
  return {
    ok: true,
    result,
    structuredJson: undefined,
    content: [],
    durationMs: 1.25,
    attempt,
    replayed: false,
  };
}

/** A failure of that kind. */
export function failure(
  errorKind: Extract<Outcome, { ok: false }>["errorKind"],
  attempt = 1,
): Outcome {
  return {
    ok: false,
    errorKind,
    error: `${errorKind}: no`,
    content: [],
    durationMs: 0,
    attempt,
    replayed: false,
  };
}
