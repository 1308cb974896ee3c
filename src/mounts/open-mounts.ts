import type { Log } from "../internal/log.ts";
import type { Capability } from "../registry/build-registry.ts";
import { isMcpMount, type McpMount } from "./mcp.ts";
import { mountedCapability, type MountListing } from "./mounted-capability.ts";
import { MountedServer, type MountStatus } from "./mounted-server.ts";

/** The mounted servers of a set, all of them up and listed. */
export interface Mounts {
  /** The capabilities of the set in order, mounted ones as their servers list them. */
  readonly capabilities: readonly Capability[];
  /** What each server listed, in order, as plain data. */
  readonly listings: readonly MountListing[];
  /** One sentence each, naming server and tool. */
  readonly warnings: readonly string[];
  /** How each server is doing now. */
  status(): readonly MountStatus[];
  /** Ends every server. At most a little over 0.8 s. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts or reaches every mounted server of a set, all at once, and lists its tools.
 *
 * @throws ConfigurationError for the first that can't be mounted; the others are ended
 */
export async function openMounts(
  given: readonly (Capability | McpMount)[],
  log: Log,
): Promise<Mounts> {
  const servers = given.map((each) => (isMcpMount(each) ? new MountedServer(each, log) : each));
  const mounted = servers.filter((each) => each instanceof MountedServer);
  const close = async (): Promise<void> => {
    await Promise.all(mounted.map((server) => server.close()));
  };
  const opening = servers.map(open);
  try {
    const opened = await Promise.all(opening);
    return Object.freeze({
      capabilities: Object.freeze(opened.map(({ capability }) => capability)),
      listings: Object.freeze(opened.flatMap(({ listing }) => listing ?? [])),
      warnings: Object.freeze(opened.flatMap(({ warnings }) => warnings)),
      status: () => mounted.map((server) => server.status),
      close,
    });
  } catch (error) {
    await close();
    // Those that are still opening close themselves; whoever is told of a failure finds nothing left.
    await Promise.allSettled(opening);
    throw error;
  }
}

interface Opened {
  readonly capability: Capability;
  readonly listing?: MountListing;
  readonly warnings: readonly string[];
}

async function open(server: Capability | MountedServer): Promise<Opened> {
  if (!(server instanceof MountedServer)) return { capability: server, warnings: [] };
  const { listing, warnings } = await server.open();
  const capability = mountedCapability(listing, (tool, args, ctx) => server.call(tool, args, ctx));
  return { capability, listing, warnings };
}
