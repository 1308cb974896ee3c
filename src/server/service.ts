import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { renderManifest } from "../domain/manifest-text.ts";
import type { Registry, Tool } from "../domain/tool.ts";
import { ToolPortError } from "../errors.ts";
import type { Executor } from "../execution/port.ts";
import type { RunPort } from "../execution/run-port.ts";
import type { Log } from "../internal/log.ts";
import type { Selector } from "../selection/selector.ts";
import { toRefusedCall } from "../wire/call.ts";
import { toDescriptorMessage } from "../wire/descriptor.ts";
import { readExecuteRequest, readRefuseRequest, undefinedValue } from "../wire/request.ts";
import { readSelectRequest, toSelectionResult } from "../wire/selection.ts";
import {
  ManifestFormat,
  type ManifestRequest,
  type SelectRequest,
  type ToolPortService,
} from "../wire/v1.ts";
import { requireAnswerable } from "./answer.ts";
import { streamCall } from "./call-stream.ts";
import { streamRun } from "./run-stream.ts";

/** What the service answers from. */
export interface ServiceOptions {
  readonly registry: Registry;
  readonly executor: Executor;
  readonly selector: Selector;
  /** Opens live runs; absent: Run is UNIMPLEMENTED. */
  readonly runs?: RunPort | undefined;
  readonly info: ServerFacts;
  readonly log: Log;
}

/** What ServerInfo says. */
interface ServerFacts {
  readonly version: string;
  readonly maxMessageBytes: number;
  readonly maxCallsInFlight: number;
  /** What is offered beyond the contract's minimum; `run` is added where it is. */
  readonly features: readonly string[];
}

/** The tool port itself: one implementation for every protocol. */
export function createService(options: ServiceOptions): ServiceImpl<typeof ToolPortService> {
  const { registry, executor, selector, runs, log } = options;
  const { maxMessageBytes } = options.info;
  const server = serverInfo(options);
  const names = registry.tools.map(({ descriptor }) => ({ name: descriptor.name }));

  return {
    manifest(request) {
      requireNoFormat(request);
      const tools = listed(registry, request);
      const { budgetTokens, query } = request;
      return {
        tools: tools.map(({ descriptor }) => toDescriptorMessage(descriptor)),
        digest: registry.digest,
        text: renderManifest(
          tools.map(({ descriptor }) => descriptor),
          { budgetTokens, query },
        ),
        server,
      };
    },

    async select(request, context) {
      requireNoFormat(request);
      const { candidates, ...asked } = readSelectRequest(request);
      const selected = await selector.select({
        tools: names,
        candidates,
        context: { ...asked, signal: context.signal },
      });
      return {
        result: toSelectionResult(selected),
        tools: request.includeDescriptors
          ? selected.tools.flatMap(({ name }) => descriptorOf(registry, name))
          : [],
        digest: registry.digest,
      };
    },

    execute(request, context) {
      return streamCall(readExecuteRequest(request), context, { executor, maxMessageBytes, log });
    },

    refuse(request) {
      const call = readRefuseRequest(request);
      requireAnswerable(call, maxMessageBytes);
      return { call: toRefusedCall(call, request.reason) };
    },

    run(requests, context: HandlerContext) {
      if (!runs) throw new ToolPortError("UNIMPLEMENTED", "this server does not offer Run");
      const { digest } = registry;
      return streamRun(requests, context, { runs, digest, server, maxMessageBytes, log });
    },
  };
}

function serverInfo({ info, runs }: ServiceOptions): ServerInfoInit {
  return Object.freeze({
    version: info.version,
    contract: "toolport.v1",
    maxMessageBytes: Math.min(info.maxMessageBytes, 0xffff_ffff),
    maxCallsInFlight: Math.min(info.maxCallsInFlight, 0xffff_ffff),
    features: [...new Set([...info.features, ...(runs ? ["run"] : [])])],
  });
}

/** ServerInfo as a plain object. */
export interface ServerInfoInit {
  readonly version: string;
  readonly contract: string;
  readonly maxMessageBytes: number;
  readonly maxCallsInFlight: number;
  readonly features: string[];
}

function listed(registry: Registry, request: ManifestRequest): readonly Tool[] {
  const wanted = request.names ? new Set(request.names.names) : undefined;
  return registry.tools.filter(
    ({ descriptor }) =>
      (request.includeHidden || !descriptor.hidden) && (wanted?.has(descriptor.name) ?? true),
  );
}

function descriptorOf(
  registry: Registry,
  name: string | null,
): ReturnType<typeof toDescriptorMessage>[] {
  const tool = name === null ? undefined : registry.get(name);
  return tool ? [toDescriptorMessage(tool.descriptor)] : [];
}

function requireNoFormat({ format }: ManifestRequest | SelectRequest): void {
  if (format === ManifestFormat.UNSPECIFIED) return;
  if (!Object.values<number>(ManifestFormat).includes(format)) {
    throw undefinedValue("format", format);
  }
  throw new ToolPortError(
    "UNIMPLEMENTED",
    "format: this server renders no provider's form yet; leave it unspecified",
  );
}
