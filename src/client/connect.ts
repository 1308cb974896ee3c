import { randomUUID } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";

import { ToolPortError } from "../errors.ts";
import { stringifyJson } from "../internal/json-text.ts";
import {
  type ManifestRequestSchema,
  type ManifestResponse,
  OnDisconnect,
  type SelectRequestSchema,
  type SelectResponse,
  type ToolCall,
  ToolPortService,
} from "../wire/v1.ts";
import { Channel, type ConnectOptions, type RequestOptions } from "./channel.ts";
import { Execution } from "./execution.ts";

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

/**
 * A kernel's hold on a tool port. Every method rejects with a {@link ToolPortError} that bears the
 * reason of the fault as its `code`, `UNREACHABLE` where no server answers.
 */
export interface ToolPortClient {
  readonly address: string;
  /** Waits until the server takes connections; `UNREACHABLE` after `timeoutMs`, default 10 s. */
  ready(timeoutMs?: number): Promise<void>;
  /** What the tools are. */
  manifest(
    request?: MessageInitShape<typeof ManifestRequestSchema>,
    options?: RequestOptions,
  ): Promise<ManifestResponse>;
  /** Which tools to offer the model this turn. */
  select(
    request?: MessageInitShape<typeof SelectRequestSchema>,
    options?: RequestOptions,
  ): Promise<SelectResponse>;
  /** The record of a call that a precondition would not let run. */
  refuse(call: CallInput, reason?: string, options?: RequestOptions): Promise<ToolCall>;
  /** Runs one call, at once. */
  execute(call: CallInput, options?: ExecuteOptions): Execution;
  /** Cancels every call, and ends the connection once other requests have ended. Idempotent. */
  close(): void;
}

/**
 * Connects to a tool port. The connection is made by the first request, and made again when it was
 * lost; a request that may have reached its tool is never sent a second time.
 *
 * @throws ToolPortError `REQUEST_INVALID` for an address that is neither `unix:/path` nor
 *   `host:port`, or for a token that no header can carry
 */
export function connect(options: ConnectOptions): ToolPortClient {
  const channel = new Channel(options);
  const { manifest, select, refuse, execute } = ToolPortService.method;
  const open = new Set<Execution>();
  return Object.freeze({
    address: channel.address,
    ready: (timeoutMs = 10_000) => channel.ready(timeoutMs),
    manifest: async (request = {}, given = {}) => await channel.unary(manifest, request, given),
    select: async (request = {}, given = {}) => await channel.unary(select, request, given),
    async refuse(call, reason = "", given = {}) {
      const response = await channel.unary(refuse, { request: requestOf(call), reason }, given);
      if (response.call) return response.call;
      throw new ToolPortError("INTERNAL", "Refuse was answered without a call");
    },
    execute(call, given = {}) {
      const request = requestOf(call);
      const stream = channel.serverStream(
        execute,
        {
          request,
          ...(given.timeoutMs === undefined ? {} : { timeoutMs: given.timeoutMs }),
          expectedDigest: given.expectedDigest ?? "",
          onDisconnect:
            given.onDisconnect === "continue" ? OnDisconnect.CONTINUE : OnDisconnect.ABORT,
          metadata: { ...given.metadata },
          acceptChunks: true,
        },
        given,
      );
      const execution = new Execution(request.callId, stream, channel.address);
      open.add(execution);
      stream.once("status", () => open.delete(execution));
      return execution;
    },
    close() {
      for (const execution of open) execution.cancel();
      channel.close();
    },
  } satisfies ToolPortClient);
}

function requestOf(call: CallInput): {
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
