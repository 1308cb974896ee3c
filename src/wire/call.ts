import type {
  CallEvent as Event,
  CallRequest,
  ContentPart,
  ErrorKind as Kind,
  Outcome,
} from "../domain/call.ts";
import {
  type Content,
  ErrorKind,
  type ToolCall,
  type ToolOutput,
  type ToolProgress,
} from "./v1.ts";

// Text is made well-formed on its way out: a lone surrogate has no UTF-8 form and would turn a
// whole message into a fault.

const errorKinds: Readonly<Record<Kind, ErrorKind>> = {
  UNKNOWN_TOOL: ErrorKind.UNKNOWN_TOOL,
  INVALID_ARGUMENTS: ErrorKind.INVALID_ARGUMENTS,
  RAISED: ErrorKind.RAISED,
  TIMED_OUT: ErrorKind.TIMED_OUT,
  REFUSED: ErrorKind.REFUSED,
  BUDGET_EXHAUSTED: ErrorKind.BUDGET_EXHAUSTED,
  RESULT_UNSERIALIZABLE: ErrorKind.RESULT_UNSERIALIZABLE,
  RESULT_TOO_LARGE: ErrorKind.RESULT_TOO_LARGE,
  HOST_LOST: ErrorKind.HOST_LOST,
  INDETERMINATE: ErrorKind.INDETERMINATE,
};

/** What an outcome repeats of its request. */
export type Asked = Pick<CallRequest, "callId" | "name" | "argumentsJson">;

/** An outcome as the ToolCall that answers a request. */
export function toToolCall(asked: Asked, outcome: Outcome): ToolCall {
  // Written out rather than made by the library: this is on the way of every call.
  const call: ToolCall = {
    $typeName: "toolport.v1.ToolCall",
    id: asked.callId,
    name: asked.name,
    argumentsJson: asked.argumentsJson,
    errorKind: ErrorKind.UNSPECIFIED,
    durationMs: Number.isFinite(outcome.durationMs) ? Math.max(0, outcome.durationMs) : 0,
    content: outcome.content.length === 0 ? [] : outcome.content.map(toContent),
    replayed: outcome.replayed,
    attempt: outcome.attempt,
  };
  if (outcome.ok) {
    call.result = outcome.result.toWellFormed();
    if (outcome.structuredJson !== undefined) {
      call.structuredJson =
        outcome.structuredJson === outcome.result
          ? call.result
          : outcome.structuredJson.toWellFormed();
    }
  } else {
    call.error = outcome.error.toWellFormed();
    call.errorKind = errorKinds[outcome.errorKind];
  }
  return call;
}

/** The ToolCall of a call that the kernel would not let run. */
export function toRefusedCall(asked: Asked, reason: string): ToolCall {
  return toToolCall(asked, {
    ok: false,
    errorKind: "REFUSED",
    error: reason === "" ? "refused by a tool precondition" : reason,
    content: [],
    durationMs: 0,
    attempt: 0,
    replayed: false,
  });
}

/** What happens during a call, as one of the events that Execute and Run carry. */
export type EventInit =
  | { readonly case: "progress"; readonly value: ToolProgress }
  | { readonly case: "output"; readonly value: ToolOutput };

/** What happens during a call, as an event of Execute or Run. */
export function toEvent(event: Event): EventInit {
  if (event.kind === "progress") {
    const { done, total, message } = event;
    const value: ToolProgress = {
      $typeName: "toolport.v1.ToolProgress",
      done,
      message: message.toWellFormed(),
    };
    if (total !== undefined) value.total = total;
    return { case: "progress", value };
  }
  return {
    case: "output",
    value: { $typeName: "toolport.v1.ToolOutput", output: toOutput(event) },
  };
}

function toOutput(event: Exclude<Event, { kind: "progress" }>): ToolOutput["output"] {
  switch (event.kind) {
    case "text":
      return { case: "text", value: event.text.toWellFormed() };
    case "json":
      return { case: "json", value: event.json.toWellFormed() };
    case "content":
      return { case: "content", value: toContent(event.content) };
  }
}

function toContent(part: ContentPart): Content {
  const content: Content = {
    $typeName: "toolport.v1.Content",
    mimeType: part.mimeType.toWellFormed(),
    source: { case: undefined },
  };
  if (part.name !== undefined) content.name = part.name.toWellFormed();
  if (part.data !== undefined) {
    content.source = { case: "data", value: new Uint8Array(part.data) };
  } else if (part.uri !== undefined) {
    content.source = { case: "uri", value: part.uri.toWellFormed() };
  }
  return content;
}
