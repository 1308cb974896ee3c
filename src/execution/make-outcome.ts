import type { CallRequest, Outcome } from "../domain/call.ts";
import type { ToolLimits } from "../domain/tool.ts";
import type { Log } from "../internal/log.ts";
import type { BodyEnd } from "./body.ts";
import { describeError, type Failure, failure } from "./describe-error.ts";
import type { CallEnd } from "./port.ts";
import { type Rendered, renderAtOnce, renderResult } from "./render-result.ts";

/** How large a result may be, and what becomes of a larger one. */
export interface ResultLimits {
  /** The largest result, in bytes, that a caller without `acceptChunks` can be sent. */
  readonly maxResultBytes: number;
  /** The largest result that can be held and sent in chunks, in bytes. */
  readonly maxChunkedBytes: number;
  /** Puts a result over the limit into a file; absent: it is refused. */
  readonly spill: ((rendered: Rendered, request: CallRequest) => Promise<Rendered>) | undefined;
  readonly log: Log;
}

/** When and as which attempt a body ran. */
export interface Attempt {
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly attempt: number;
}

/** An outcome of a failure. */
export function failed(reason: Failure, attempt: Attempt): Outcome {
  return { ok: false, ...reason, content: [], ...measures(attempt) };
}

/** The outcome of a body that has ended; a promise only where rendering it takes a turn. */
export function concluded(
  end: BodyEnd,
  request: CallRequest,
  attempt: Attempt,
  largeResults: ToolLimits["largeResults"],
  limits: ResultLimits,
): Outcome | Promise<Outcome> {
  if (!end.ok) return failed(describeError(end.thrown), attempt);
  const rendered = renderAtOnce(request.name, end.value);
  if (rendered && ("errorKind" in rendered || fits(rendered, request, limits))) {
    return outcomeOf(rendered, attempt);
  }
  return concludedSlowly(rendered ?? end.value, request, attempt, largeResults, limits);
}

/** An end for one caller: a result over the message limit needs one that takes chunks. */
export function fitting(end: CallEnd, request: CallRequest, limits: ResultLimits): CallEnd {
  if (end.kind === "fault" || !end.outcome.ok || fits(end.outcome, request, limits)) return end;
  const bytes = sizeOf(end.outcome);
  const { durationMs, attempt, replayed } = end.outcome;
  const reason = tooLarge(request, bytes, limits);
  const outcome = { ok: false, ...reason, content: [], durationMs, attempt, replayed } as const;
  return { kind: "outcome", outcome };
}

async function concludedSlowly(
  value: unknown,
  request: CallRequest,
  attempt: Attempt,
  largeResults: ToolLimits["largeResults"],
  limits: ResultLimits,
): Promise<Outcome> {
  const rendered = value instanceof Blob ? await renderResult(request.name, value) : value;
  const known = rendered as Rendered | Failure;
  if ("errorKind" in known || fits(known, request, limits)) return outcomeOf(known, attempt);
  if (largeResults === "spill" && limits.spill) {
    try {
      return outcomeOf(await limits.spill(known, request), attempt);
    } catch (error) {
      limits.log("error", "a result could not be spilled", { tool: request.name, error });
    }
  }
  return failed(tooLarge(request, sizeOf(known), limits), attempt);
}

function outcomeOf(rendered: Rendered | Failure, attempt: Attempt): Outcome {
  if ("errorKind" in rendered) return failed(rendered, attempt);
  return { ok: true, ...rendered, ...measures(attempt) };
}

function measures({ startedAt, attempt }: Attempt): {
  durationMs: number;
  attempt: number;
  replayed: false;
} {
  // Never 0 by a coarse clock: that would say that nothing ran.
  const durationMs = Math.max(performance.now() - startedAt, 0.001);
  return { durationMs, attempt, replayed: false };
}

/** Whether a caller can be sent a result; only its text can be cut into chunks. */
function fits(rendered: Rendered, request: CallRequest, limits: ResultLimits): boolean {
  const bytes = sizeOf(rendered);
  if (bytes <= limits.maxResultBytes) return true;
  if (!request.acceptChunks || bytes > limits.maxChunkedBytes) return false;
  const { result, structuredJson, content } = rendered;
  const isRepeated = structuredJson === result;
  const rest = { result: "", structuredJson: isRepeated ? undefined : structuredJson, content };
  return sizeOf(rest) <= limits.maxResultBytes;
}

function tooLarge(request: CallRequest, bytes: number, limits: ResultLimits): Failure {
  const { maxResultBytes, maxChunkedBytes } = limits;
  const max = request.acceptChunks && bytes > maxChunkedBytes ? maxChunkedBytes : maxResultBytes;
  const what = max === maxResultBytes && request.acceptChunks ? "content of the result" : "result";
  return failure(
    "RESULT_TOO_LARGE",
    `the ${what} of ${JSON.stringify(request.name)} has ${bytes} bytes, ${max} are allowed`,
  );
}

/** About how many bytes a result takes on the wire. */
function sizeOf({ result, structuredJson, content }: Rendered): number {
  let bytes = Buffer.byteLength(result);
  // A result that is JSON as a whole is the same text twice; measure it once.
  if (structuredJson === result) bytes *= 2;
  else if (structuredJson !== undefined) bytes += Buffer.byteLength(structuredJson);
  for (const part of content) bytes += part.data?.byteLength ?? 0;
  return bytes;
}
