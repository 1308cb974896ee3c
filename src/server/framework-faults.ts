import { Code, ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { type ErrorCode, ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import { toConnectError } from "../wire/faults.ts";

/**
 * The error that an RPC ends in, with the details that every fault has. What the framework throws
 * before a handler runs is about the request's bytes, whatever code it gave.
 */
export function withDetails(thrown: unknown, maxMessageBytes: number, log: Log): ConnectError {
  if (!(thrown instanceof ConnectError)) return toConnectError(thrown, log);
  if (thrown.details.length > 0 || foreign.has(thrown.code)) return thrown;
  return toConnectError(translate(thrown, maxMessageBytes), log);
}

/** Codes that only the services beside the tool port use, which have faults of their own. */
const foreign: ReadonlySet<Code> = new Set([Code.NotFound]);

const plain: ReadonlyMap<Code, ErrorCode> = new Map([
  [Code.Canceled, "CANCELLED"],
  [Code.Aborted, "CANCELLED"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.Unimplemented, "UNIMPLEMENTED"],
]);

function translate(error: ConnectError, maxMessageBytes: number): ToolPortError {
  const options = { cause: error };
  if (error.code === Code.ResourceExhausted) {
    const text = `a message is larger than the limit of ${maxMessageBytes} bytes`;
    return new ToolPortError("MESSAGE_TOO_LARGE", text, options);
  }
  const code = plain.get(error.code);
  if (code) return new ToolPortError(code, error.rawMessage, options);
  if (error.rawMessage.startsWith("serialize")) {
    return new ToolPortError("INTERNAL", "the answer could not be encoded", options);
  }
  const why = error.rawMessage.replace(/^(?:parse binary|protocol error): /u, "");
  return new ToolPortError(
    "MESSAGE_UNPARSABLE",
    `the request's bytes are no message of the expected type: ${why}`,
    options,
  );
}

/**
 * Gives a unary Connect response that is an error without details the ones that it lacks. Over
 * this protocol the framework parses outside of what interceptors see.
 */
export async function repairUnaryResponse(
  response: UniversalServerResponse,
  maxMessageBytes: number,
  log: Log,
): Promise<UniversalServerResponse> {
  const { header, body } = response;
  const isError = response.status >= 400 && header?.get("content-type") === "application/json";
  if (!isError || !body || header.has("content-encoding")) return response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const bytes = new Uint8Array(Buffer.concat(chunks));
  const unreadable = new ConnectError("internal error", Code.Internal);
  const error = withDetails(errorFromJsonBytes(bytes, undefined, unreadable), maxMessageBytes, log);
  const repaired = errorToJsonBytes(error, undefined);
  header.set("content-length", String(repaired.byteLength));
  return { ...response, status: codeToHttpStatus(error.code), body: once(repaired) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
