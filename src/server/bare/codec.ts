import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import {
  readExecuteRequest,
  readRunRequest,
  writeExecuteResponse,
  writeRunResponse,
} from "../../wire/codec.ts";
import { ProtoReader } from "../../internal/protobuf/proto-reader.ts";
import { ProtoWriter } from "../../internal/protobuf/proto-writer.ts";
import {
  type ExecuteRequest,
  ExecuteRequestSchema,
  type ExecuteResponse,
  type RunRequest,
  RunRequestSchema,
  type RunResponse,
} from "../../wire/v1.ts";
import { prefixBytes, unparsable } from "./frames.ts";

// What a message means is what the general library says. The generated codecs say the same of the
// messages that clients send, sooner; what they do not take is left to the library, faults included.

/**
 * Reads an Execute's message.
 *
 * @throws ToolPortError MESSAGE_UNPARSABLE
 */
export function decodeExecuteRequest(bytes: Buffer): ExecuteRequest {
  try {
    return readExecuteRequest(new ProtoReader(bytes), bytes.byteLength);
  } catch {
    return decoded(ExecuteRequestSchema, bytes);
  }
}

/**
 * Reads a message of a run.
 *
 * @throws ToolPortError MESSAGE_UNPARSABLE
 */
export function decodeRunRequest(bytes: Buffer): RunRequest {
  try {
    return readRunRequest(new ProtoReader(bytes), bytes.byteLength);
  } catch {
    return decoded(RunRequestSchema, bytes);
  }
}

/**
 * A message that answers Execute, framed.
 *
 * @param weight about how many bytes its texts have
 */
export function frameExecuteResponse(message: ExecuteResponse, weight: number): Buffer {
  return frame(writeExecuteResponse, message, weight);
}

/**
 * A message that answers Run, framed.
 *
 * @param weight about how many bytes its texts have
 */
export function frameRunResponse(message: RunResponse, weight: number): Buffer {
  return frame(writeRunResponse, message, weight);
}

const writer = new ProtoWriter();

/** What a message has beside its texts, in bytes. */
const otherBytes = 40;

function frame<T>(
  write: (out: ProtoWriter, message: T) => void,
  message: T,
  weight: number,
): Buffer {
  writer.begin(prefixBytes, weight + otherBytes);
  try {
    write(writer, message);
  } catch (thrown) {
    writer.drop();
    throw thrown;
  }
  const bytes = writer.take();
  bytes[0] = 0;
  bytes.writeUInt32BE(bytes.byteLength - prefixBytes, 1);
  return bytes;
}

function decoded<S extends DescMessage>(schema: S, bytes: Uint8Array): MessageShape<S> {
  try {
    return fromBinary(schema, bytes);
  } catch (thrown) {
    throw unparsable(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
