import { type CallRequest, noMetadata } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import { type ExecuteRequest, OnDisconnect, type RefuseRequest, type ToolRequest } from "./v1.ts";

/** The longest run id and call id, in bytes of UTF-8. */
const maxIdBytes = 1024;

/**
 * Reads an Execute request, checking what is structural about it: the rules that its fields are
 * annotated with in the contract, and no more.
 *
 * @param path where the message stands in a larger one, for the error's text; such as `execute.`
 * @throws ToolPortError CALL_ID_MISSING or REQUEST_INVALID, naming the field
 */
export function readExecuteRequest(message: ExecuteRequest, path = ""): CallRequest {
  const call = readToolRequest(message.request, path);
  if (message.timeoutMs === 0) {
    throw invalid(`${path}timeout_ms`, "is 0, must be at least 1; leave it out for no limit");
  }
  return Object.freeze({
    runId: call.runId,
    callId: call.callId,
    name: call.name,
    argumentsJson: call.argumentsJson,
    timeoutMs: message.timeoutMs,
    expectedDigest: message.expectedDigest,
    onDisconnect: readOnDisconnect(message.onDisconnect, path),
    metadata: readMetadata(message.metadata),
    acceptChunks: message.acceptChunks,
  });
}

/** Reads a Refuse request; throws as {@link readExecuteRequest} does. */
export function readRefuseRequest(message: RefuseRequest): ToolRequest {
  return readToolRequest(message.request, "");
}

/** Reads what becomes of calls on a lost connection; throws as {@link readExecuteRequest} does. */
export function readOnDisconnect(value: OnDisconnect, path = ""): CallRequest["onDisconnect"] {
  switch (value) {
    case OnDisconnect.UNSPECIFIED:
    case OnDisconnect.ABORT:
      return "abort";
    case OnDisconnect.CONTINUE:
      return "continue";
    default:
      throw undefinedValue(`${path}on_disconnect`, value);
  }
}

/** Metadata as a frozen object without a prototype, so that any key is only a key. */
export function readMetadata(metadata: {
  readonly [key: string]: string;
}): Readonly<Record<string, string>> {
  if (Object.keys(metadata).length === 0) return noMetadata;
  return Object.freeze(Object.assign(Object.create(null) as Record<string, string>, metadata));
}

/** The fault of an enum field whose number the contract does not define. */
export function undefinedValue(field: string, value: number): ToolPortError {
  return invalid(field, `is ${value}, which the contract does not define`);
}

/** The fault of a field that breaks its rule. */
export function invalid(field: string, breach: string): ToolPortError {
  return new ToolPortError("REQUEST_INVALID", `${field} ${breach}`);
}

function readToolRequest(call: ToolRequest | undefined, path: string): ToolRequest {
  if (!call) throw invalid(`${path}request`, "is missing; it names the call");
  if (call.callId === "") {
    throw new ToolPortError(
      "CALL_ID_MISSING",
      `${path}request.call_id is empty; give every call an id that is unique in its run`,
    );
  }
  checkId(`${path}request.call_id`, call.callId);
  checkId(`${path}request.run_id`, call.runId);
  return call;
}

/** Checks an id's length; throws as {@link readExecuteRequest} does. */
export function checkId(field: string, id: string): void {
  // A character takes at most three bytes for each unit of its length.
  if (id.length * 3 <= maxIdBytes) return;
  const bytes = Buffer.byteLength(id);
  if (bytes > maxIdBytes) throw invalid(field, `has ${bytes} bytes, may have ${maxIdBytes}`);
}
