import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { isFound, renderManifest } from "../domain/manifest-text.ts";
import type { Registry, Tool } from "../domain/tool.ts";
import { ToolPortError } from "../errors.ts";
import type { Executor } from "../execution/port.ts";
import type { RunPort } from "../execution/run-port.ts";
import type { Log } from "../internal/log.ts";
import type { Selector } from "../selection/selector.ts";
import { toRefusedCall } from "../wire/call.ts";
import { toDescriptorMessage } from "../wire/descriptor.ts";
import { createProviderFormats } from "../wire/provider-formats/provider-formats.ts";
import { readExecuteRequest, readRefuseRequest } from "../wire/request.ts";
import { readSelectRequest, toSelectionResult } from "../wire/selection.ts";
import type { ManifestRequest, ToolPortService } from "../wire/v1.ts";
import { requireAnswerable } from "./answer.ts";
import { streamCall } from "./call-stream.ts";
import { streamRun } from "./run-requests.ts";
import { type ServerFacts, serverInfo } from "./server-info.ts";

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

/** The tool port itself: one implementation for every protocol. */
export function createService(options: ServiceOptions): ServiceImpl<typeof ToolPortService> {
  const { registry, executor, selector, runs, log } = options;
  const { maxMessageBytes } = options.info;
  const server = serverInfo(options.info, runs !== undefined);
  const descriptors = registry.tools.map(({ descriptor }) => descriptor);
  const formatOf = createProviderFormats(descriptors);

  return {
    manifest(request) {
      const format = formatOf(request.format);
      const tools = listed(registry, request).map(({ descriptor }) => descriptor);
      const { budgetTokens, query, strict } = request;
      return {
        tools: tools.map(toDescriptorMessage),
        digest: registry.digest,
        text: renderManifest(tools, { budgetTokens, query }),
        ...(format && {
          providerToolsJson: format.tools(
            tools.filter((tool) => isFound(tool, query)),
            strict,
          ),
          providerNames: format.names(tools),
        }),
        server,
      };
    },

    async select(request, context) {
      const format = formatOf(request.format);
      const { candidates, ...asked } = readSelectRequest(request);
      const selected = await selector.select({
        tools: descriptors,
        candidates,
        context: { ...asked, signal: context.signal },
      });
      return {
        result: toSelectionResult(selected),
        tools: request.includeDescriptors
          ? selected.tools.flatMap(({ name }) => descriptorOf(registry, name))
          : [],
        digest: registry.digest,
        ...(format &&
          selected.forcedChoice !== null && {
            providerToolChoiceJson: format.toolChoice(selected.forcedChoice),
          }),
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
