import { randomUUID } from "node:crypto";

import { ToolPortError } from "../errors.ts";
import { stringifyJson } from "../internal/json-text.ts";
import { OnDisconnect } from "../wire/v1.ts";
import type { RequestOptions } from "./channel.ts";

/** One call to a tool. */
export interface CallInput {
  /** The exact name of a tool. */
  readonly name: string;
  /** The arguments: a value that JSON can carry (`bigint` as digits); default `{}`. */
  readonly arguments?: unknown;
  /** The arguments as JSON text, sent as it is; wins over `arguments`. */
  readonly argumentsJson?: string | undefined;
  /** Unique in its run; made here where it is left out. */
  readonly callId?: string | undefined;
  /** The run that the call belongs to; left out: it stands alone and is never journaled. */
  readonly runId?: string | undefined;
}

/** What an Execute may be given beside the call. */
export interface ExecuteOptions extends RequestOptions {
  /** How long the tool may run, in milliseconds; the outcome is then `TIMED_OUT`. */
  readonly timeoutMs?: number | undefined;
  /** Run only if the server serves this set; else the fault `DIGEST_MISMATCH`. */
  readonly expectedDigest?: string | undefined;
  /** What becomes of the call when the connection is lost; default `abort`. */
  readonly onDisconnect?: "abort" | "continue" | undefined;
  /** Reaches the tool's context. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The message that asks for a call to run. */
export function executeRequestOf(
  call: CallInput,
  given: ExecuteOptions,
): {
  request: ReturnType<typeof requestOf>;
  timeoutMs?: number;
  expectedDigest: string;
  onDisconnect: OnDisconnect;
  metadata: Record<string, string>;
  acceptChunks: true;
} {
  return {
    request: requestOf(call),
    ...(given.timeoutMs === undefined ? {} : { timeoutMs: given.timeoutMs }),
    expectedDigest: given.expectedDigest ?? "",
    onDisconnect: onDisconnectOf(given.onDisconnect),
    metadata: { ...given.metadata },
    acceptChunks: true,
  };
}

/** What becomes of a call or a run when the connection is lost, as the contract says it. */
export function onDisconnectOf(choice: ExecuteOptions["onDisconnect"]): OnDisconnect {
  return choice === "continue" ? OnDisconnect.CONTINUE : OnDisconnect.ABORT;
}

/**
 * The message that names a call.
 *
 * @throws ToolPortError `REQUEST_INVALID` for arguments that JSON can't carry
 */
export function requestOf(call: CallInput): {
  runId: string;
  callId: string;
  name: string;
  argumentsJson: string;
} {
  return {
    runId: call.runId ?? "",
    callId: call.callId ?? randomUUID(),
    name: call.name,
    argumentsJson: call.argumentsJson ?? argumentsText(call.arguments ?? {}),
  };
}

function argumentsText(value: unknown): string {
  try {
    return stringifyJson(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const text = `cannot write the arguments as JSON: ${why}`;
    throw new ToolPortError("REQUEST_INVALID", text, { cause: error });
  }
}
