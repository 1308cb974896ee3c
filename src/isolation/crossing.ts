import type { CallEvent, ContentPart } from "../domain/call.ts";
import { isToolPortError, ToolPortError } from "../errors.ts";
import {
  describeError,
  failure,
  isAbortError,
  SettledFailure,
} from "../execution/describe-error.ts";
import { type Rendered, renderResult, settledResult } from "../execution/render-result.ts";
import type { BodyEnd } from "../execution/body.ts";
import type { CrossedEnd, CrossedError } from "./protocol.ts";

/** Something that can be posted, and the buffers that move with it instead of being copied. */
export interface Crossing<T> {
  readonly value: T;
  readonly transfer: readonly ArrayBuffer[];
}

/** Renders how a body ended, exactly as it would be rendered in the process. */
export async function crossEnd(toolName: string, end: BodyEnd): Promise<Crossing<CrossedEnd>> {
  if (!end.ok) {
    const { errorKind, error } = describeError(end.thrown);
    return {
      value: { ok: false, failure: { errorKind, error }, isAbort: isAbortError(end.thrown) },
      transfer: [],
    };
  }
  const rendered = await renderResult(toolName, end.value);
  if ("errorKind" in rendered) {
    return { value: { ok: false, failure: rendered, isAbort: false }, transfer: [] };
  }
  const content = rendered.content.map(ownPart);
  const { result, structuredJson } = rendered;
  const isSame = structuredJson === result;
  return {
    value: {
      ok: true,
      result,
      structuredJson: isSame ? "same" : { text: structuredJson },
      content,
    },
    transfer: buffersOf(content),
  };
}

/** What the process makes of an end: the body's value, or what it throws. */
export function arriveEnd(end: CrossedEnd): BodyEnd {
  if (end.ok) {
    const { result, structuredJson, content } = end;
    const rendered: Rendered = {
      result,
      structuredJson: structuredJson === "same" ? result : structuredJson.text,
      content,
    };
    return { ok: true, value: settledResult(rendered) };
  }
  const thrown = new SettledFailure(end.failure.errorKind, end.failure.error);
  // The name is how an abort is told from an outcome.
  if (end.isAbort) thrown.name = "AbortError";
  return { ok: false, thrown };
}

/** An end for the case that the real one can't be posted. */
export function uncrossableEnd(toolName: string, thrown: unknown): CrossedEnd {
  return {
    ok: false,
    failure: failure(
      "RESULT_UNSERIALIZABLE",
      `the result of ${JSON.stringify(toolName)} cannot leave its thread (${describeError(thrown).error})`,
    ),
    isAbort: false,
  };
}

/** Makes an event ready to be posted; the tool keeps its own bytes. */
export function crossEvent(event: CallEvent): Crossing<CallEvent> {
  if (event.kind !== "content") return { value: event, transfer: [] };
  const content = ownPart(event.content);
  return { value: { kind: "content", content }, transfer: buffersOf([content]) };
}

/** An error as far as it can cross. */
export function crossError(thrown: unknown): CrossedError {
  if (isToolPortError(thrown)) {
    const { name, message, code, started } = thrown;
    return { name, message, code, started };
  }
  try {
    if (thrown instanceof Error) {
      const { name, message, stack } = thrown;
      return { name: String(name), message: String(message), stack: String(stack) };
    }
  } catch {
    // One whose fields throw is described like anything else.
  }
  return { name: "Error", message: describeError(thrown).error };
}

/** The error that arrives. */
export function arriveError({ name, message, stack, code, started }: CrossedError): Error {
  if (code !== undefined) return new ToolPortError(code, message, { started: started ?? "no" });
  if (name === "AbortError" || name === "TimeoutError") return new DOMException(message, name);
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}

/**
 * A copy of nothing but the part itself. Posting a view copies the whole buffer behind it, and
 * moving the buffer would take it from the tool.
 */
function ownPart({ mimeType, data, uri, name }: ContentPart): ContentPart {
  return {
    mimeType,
    ...(data !== undefined && { data: new Uint8Array(data) }),
    ...(typeof uri === "string" && { uri }),
    ...(name !== undefined && { name: String(name) }),
  };
}

function buffersOf(parts: readonly ContentPart[]): ArrayBuffer[] {
  return parts.flatMap(({ data }) => (data ? [data.buffer as ArrayBuffer] : []));
}
