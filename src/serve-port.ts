import type { ToolPort } from "./port.ts";
import { serve as serveParts, type ServerLimits, type ToolPortServer } from "./server/serve.ts";

/** Where to serve, and to whom. */
export interface ServePortOptions {
  /** `unix:/path`, `host:port` or `[ipv6]:port`; port 0 has one picked. */
  readonly address: string;
  /** The bearer tokens that are let in. Required on TCP; on a unix socket none need be given. */
  readonly tokens?: readonly string[] | undefined;
  /** Serves TCP without any credential to whoever can reach it. Default false. */
  readonly allowUnauthenticated?: boolean | undefined;
  /** Limits of connections; those of messages and calls are the port's own. */
  readonly limits?: Partial<Omit<ServerLimits, "messageBytes" | "callsInFlight">> | undefined;
  /**
   * Serves Execute and Run over gRPC by a way of their own, which is faster than the one that every
   * other request goes. Default true. Answers don't differ; where one seems to, false tells.
   */
  readonly barePath?: boolean | undefined;
}

/**
 * Serves a tool port at one address until its `close`. Whoever embeds a port guards its own process:
 * the command line also keeps tools from ending it and from writing to standard output.
 *
 * @throws ConfigurationError where the address can't be listened at, or TCP has no credential
 */
export async function serve(port: ToolPort, options: ServePortOptions): Promise<ToolPortServer> {
  const { registry, executor, selector, runs, log, info } = port;
  return await serveParts({
    ...options,
    registry,
    executor,
    selector,
    runs,
    log,
    version: info.version,
    features: info.features,
    limits: {
      ...options.limits,
      messageBytes: info.maxMessageBytes,
      callsInFlight: info.maxCallsInFlight,
    },
  });
}
