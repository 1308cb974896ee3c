import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import type { Capability } from "../registry/build-registry.ts";
import type { ContributedTool } from "../registry/contributed-tool.ts";
import type { ListedTool } from "./listed-tools.ts";
import { isMcpMount, type McpMount } from "./mcp.ts";

/** What one mounted server offers, as plain data. */
export interface MountListing {
  /** The capability's name. */
  readonly name: string;
  readonly tools: readonly ListedTool[];
}

/** Runs a call of a mounted tool. */
export type CallMounted = (
  tool: ListedTool,
  args: Readonly<Record<string, unknown>>,
  context: ToolContext,
) => unknown;

/** Makes a capability of what a server lists. */
export function mountedCapability({ name, tools }: MountListing, call: CallMounted): Capability {
  return Object.freeze({
    name,
    tools: Object.freeze(
      tools.map((tool): ContributedTool => ({
        ...tool.traits,
        name: tool.name,
        description: tool.description,
        parameters: tool.inputSchema,
        output: tool.outputSchema,
        execute: (args: Readonly<Record<string, unknown>>, context: ToolContext) =>
          call(tool, args, context),
      })),
    ),
  });
}

/**
 * The capabilities of a set where each mount is what its server listed: the same set, without a
 * server. None of the mounted tools can be called.
 *
 * @param listings what the mounts listed, in order
 */
export function withListings(
  capabilities: readonly (Capability | McpMount)[],
  listings: readonly MountListing[],
): readonly Capability[] {
  const left = listings.values();
  return capabilities.map((capability) => {
    if (!isMcpMount(capability)) return capability;
    const listing = left.next().value;
    if (!listing) throw new ConfigurationError("an MCP server is mounted that was not listed");
    return mountedCapability(listing, () => {
      throw new Error("mounted tools are called from the main thread");
    });
  });
}
