import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  type ExecuteRequest,
  ExecuteRequestSchema,
  type ExecuteResponse,
  ExecuteResponseSchema,
  type RunRequest,
  RunRequestSchema,
  type RunResponse,
  RunResponseSchema,
} from "../../wire/v1.ts";
import { framed, unparsable } from "./frames.ts";

/**
 * Reads an Execute's message.
 *
 * @throws ToolPortError MESSAGE_UNPARSABLE
 */
export function decodeExecuteRequest(bytes: Uint8Array): ExecuteRequest {
  return decoded(ExecuteRequestSchema, bytes);
}

/**
 * Reads a message of a run.
 *
 * @throws ToolPortError MESSAGE_UNPARSABLE
 */
export function decodeRunRequest(bytes: Uint8Array): RunRequest {
  return decoded(RunRequestSchema, bytes);
}

/** A message that answers Execute, framed. */
export function frameExecuteResponse(message: ExecuteResponse): Buffer {
  return framed(toBinary(ExecuteResponseSchema, message));
}

/** A message that answers Run, framed. */
export function frameRunResponse(message: RunResponse): Buffer {
  return framed(toBinary(RunResponseSchema, message));
}

function decoded<S extends DescMessage>(schema: S, bytes: Uint8Array): MessageShape<S> {
  try {
    return fromBinary(schema, bytes);
  } catch (thrown) {
    throw unparsable(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
