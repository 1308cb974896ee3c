import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceError } from "@grpc/grpc-js";

import { ToolPortError } from "../errors.ts";
import {
  type ExecuteResponse,
  type ManifestRequestSchema,
  type ManifestResponse,
  type SelectRequestSchema,
  type SelectResponse,
  type ToolCall,
  ToolPortService,
} from "../wire/v1.ts";
import { Channel, type ConnectOptions, type RequestOptions } from "./channel.ts";
import { type CallInput, executeRequestOf, type ExecuteOptions, requestOf } from "./call-input.ts";
import { Execution } from "./execution.ts";
import { faultOf } from "./fault.ts";
import { openRun, type Run, type RunOptions } from "./run.ts";

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
  /**
   * Opens a live run: many calls on one stream, answered in the order they finish, and questions of
   * run-aware tools answered by `hosts`.
   */
  run(runId: string, options?: RunOptions): Run;
  /** Cancels every call and run, and ends the connection once other requests have ended. Idempotent. */
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
  const open = new Set<{ cancel(): void }>();
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
      const request = executeRequestOf(call, given);
      const stream = channel.serverStream(execute, request, given);
      const execution = new Execution(request.request.callId, stream);
      let fault: ToolPortError | undefined;
      stream.on("data", ({ event }: ExecuteResponse) => execution.take(event));
      stream.on("error", (error: ServiceError) => {
        fault = faultOf(error, channel.address, "unknown");
      });
      stream.on("end", () => execution.finish(fault));
      open.add(execution);
      stream.once("status", () => open.delete(execution));
      return execution;
    },
    run(runId, given = {}) {
      const opened = openRun(channel, runId, given);
      open.add(opened);
      void opened.ended.then(() => open.delete(opened));
      return opened;
    },
    close() {
      for (const each of open) each.cancel();
      channel.close();
    },
  } satisfies ToolPortClient);
}
