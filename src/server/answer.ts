import { create, toBinary } from "@bufbuild/protobuf";
import type { Outcome } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import { type Asked, toToolCall } from "../wire/call.ts";
import { ResultChunkSchema, type ResultChunk, type ToolCall, ToolCallSchema } from "../wire/v1.ts";

/** Room for what surrounds a ToolCall in its message, and for an error's text; in bytes. */
const margin = 4096;

/** The largest part of a chunked result, in bytes. */
const maxPartBytes = 1 << 20;

/** What ends a call on the wire: parts of the result, if it needs them, then the call. */
export interface Answer {
  readonly chunks: readonly ResultChunk[];
  readonly call: ToolCall;
}

/**
 * Makes sure that the answer to a request, which repeats its arguments, can be sent at all.
 *
 * @throws ToolPortError MESSAGE_TOO_LARGE
 */
export function requireAnswerable(asked: Asked, maxMessageBytes: number): void {
  if (mostBytes(asked.callId, asked.name, asked.argumentsJson) + margin <= maxMessageBytes) return;
  const bytes = Buffer.byteLength(asked.callId + asked.name + asked.argumentsJson);
  if (bytes + 2 * margin <= maxMessageBytes) return;
  throw new ToolPortError(
    "MESSAGE_TOO_LARGE",
    `the request has ${bytes} bytes; the answer repeats it and could not be sent within the message limit of ${maxMessageBytes} bytes`,
  );
}

/**
 * An outcome as the answer that fits into messages. A result over the limit is cut into parts where
 * the client takes them, else the answer says that it is too large.
 */
export function fitAnswer(
  asked: Asked,
  outcome: Outcome,
  acceptChunks: boolean,
  maxMessageBytes: number,
): Answer {
  const call = toToolCall(asked, outcome);
  const limit = maxMessageBytes - margin;
  if (isSmall(call, limit)) return { chunks: [], call };
  const bytes = toBinary(ToolCallSchema, call).byteLength;
  if (bytes <= limit) return { chunks: [], call };
  if (acceptChunks && call.result !== undefined) {
    const { result, structuredJson } = call;
    call.result = "";
    // The client has this text already: it is the one that came in parts.
    if (structuredJson === result) delete call.structuredJson;
    if (toBinary(ToolCallSchema, call).byteLength <= limit) {
      return { chunks: cut(result, Math.min(maxPartBytes, limit)), call };
    }
  }
  const tooLarge: Outcome = {
    ok: false,
    errorKind: "RESULT_TOO_LARGE",
    error: `ResultTooLarge: the answer has ${bytes} bytes, more than the message limit of ${maxMessageBytes} bytes`,
    content: [],
    durationMs: outcome.durationMs,
    attempt: outcome.attempt,
    replayed: outcome.replayed,
  };
  return { chunks: [], call: toToolCall(asked, tooLarge) };
}

/** About how many bytes a ToolCall holds while it waits for its reader. */
export function weightOf(call: ToolCall): number {
  const { argumentsJson, result = "", error = "", structuredJson = "" } = call;
  let bytes = argumentsJson.length + result.length + error.length;
  if (structuredJson !== result) bytes += structuredJson.length;
  for (const { source } of call.content) {
    if (source.case === "data") bytes += source.value.byteLength;
  }
  return bytes;
}

function isSmall(call: ToolCall, limit: number): boolean {
  if (call.content.length > 0) return false;
  const { id, name, argumentsJson, result = "", error = "", structuredJson = "" } = call;
  return mostBytes(id, name, argumentsJson, result, error, structuredJson) <= limit;
}

/** No text takes more bytes than this. */
function mostBytes(...texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length * 3, 0);
}

function cut(text: string, partBytes: number): ResultChunk[] {
  const bytes = new TextEncoder().encode(text);
  const chunks: ResultChunk[] = [];
  for (let start = 0; start < bytes.byteLength; start += partBytes) {
    const data = bytes.subarray(start, start + partBytes);
    chunks.push(create(ResultChunkSchema, { part: chunks.length, data }));
  }
  return chunks;
}
