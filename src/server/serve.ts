import type { Registry } from "../domain/tool.ts";
import { ConfigurationError, ToolPortError } from "../errors.ts";
import type { Executor } from "../execution/port.ts";
import type { RunPort } from "../execution/run-port.ts";
import { type Log, silent } from "../internal/log.ts";
import type { Selector } from "../selection/selector.ts";
import { ToolPortService } from "../wire/v1.ts";
import { type Address, formatAddress, parseAddress } from "./address.ts";
import { anybody, type Authenticate, bearerTokens } from "./authenticate.ts";
import { createHandlers, served } from "./handlers.ts";
import { HealthState } from "./health.ts";
import { listen } from "./listen.ts";
import { createRequestListener } from "./node-adapter.ts";
import { createBarePath } from "./bare/bare-path.ts";
import { createReflection } from "./reflection.ts";
import { serverInfo } from "./server-info.ts";
import { createService } from "./service.ts";
import { type ConnectionLimits, SharedPort } from "./shared-port.ts";

/** What bounds a server; all of it has a default. */
export interface ServerLimits extends ConnectionLimits {
  /** The largest message in bytes, either way, before compression. */
  readonly messageBytes: number;
  /** How long a request's message may take to come, in milliseconds. */
  readonly bodyMs: number;
  /** What ServerInfo says of the calls that may be in flight before they queue. */
  readonly callsInFlight: number;
}

/** The limits that hold where none are given. */
const defaultLimits: ServerLimits = Object.freeze({
  messageBytes: 64 << 20,
  bodyMs: 60_000,
  callsInFlight: 16_384,
  streamsPerConnection: 4096,
  connections: 1024,
  headerBytes: 64 << 10,
  handshakeMs: 10_000,
  idleMs: 60_000,
  pingEveryMs: 14_000,
});

/** What to serve, and where. */
export interface ServeOptions {
  readonly registry: Registry;
  readonly executor: Executor;
  readonly selector: Selector;
  /** Opens live runs; absent: Run is UNIMPLEMENTED. */
  readonly runs?: RunPort | undefined;
  /** `unix:/path`, `host:port` or `[ipv6]:port`; port 0 has one picked. */
  readonly address: string;
  /** The bearer tokens that are let in. Required on TCP; on a unix socket none need be given. */
  readonly tokens?: readonly string[] | undefined;
  /** Serves TCP without any credential to whoever can reach it. Default false. */
  readonly allowUnauthenticated?: boolean | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** What ServerInfo says of the version. Default `0.0.0`. */
  readonly version?: string | undefined;
  /** What ServerInfo lists beside `run`, such as `journal`. */
  readonly features?: readonly string[] | undefined;
  /**
   * Whether Execute and Run over gRPC go from HTTP/2 straight to the executor; what a caller sees is
   * the same, only sooner. Default true.
   */
  readonly barePath?: boolean | undefined;
  readonly log?: Log | undefined;
}

/** A server that listens. */
export interface ToolPortServer {
  /** Where; its port picked. */
  readonly address: string;
  /** How many connections are open. */
  readonly connections: number;
  /**
   * Shuts down: health says NOT_SERVING, new calls are DRAINING, those in flight have `graceMs` to
   * end and are aborted then. Idempotent.
   *
   * @param graceMs in milliseconds; default 10 s
   * @returns when nothing is left, at most a little over a second after the grace
   */
  close(graceMs?: number): Promise<void>;
}

/** How long answers may take to reach their readers once the calls have ended, in milliseconds. */
const flushMs = 1000;

/**
 * Serves a tool port at one address: gRPC, gRPC-Web and Connect over HTTP/1.1 and HTTP/2, with
 * health and reflection beside it.
 *
 * @throws ConfigurationError where the address can't be listened at, or TCP has no credential
 */
export async function serve(options: ServeOptions): Promise<ToolPortServer> {
  const { log = silent, executor, runs } = options;
  const limits: ServerLimits = Object.freeze({ ...defaultLimits, ...options.limits });
  const address = parseAddress(options.address);
  const authenticate = chooseAuthentication(address, options);
  const health = new HealthState([ToolPortService.typeName]);
  const { served: healthService } = health;
  const info = {
    version: options.version ?? "0.0.0",
    maxMessageBytes: limits.messageBytes,
    maxCallsInFlight: limits.callsInFlight,
    features: options.features ?? [],
  };
  const service = createService({ ...options, info, log });
  const handlers = createHandlers(
    [
      served(ToolPortService, service),
      healthService,
      ...createReflection([ToolPortService, healthService.service]),
    ],
    { maxMessageBytes: limits.messageBytes, log },
  );
  let isDraining = false;
  const gate = { authenticate, isDraining: () => isDraining };
  const onRequest = createRequestListener({
    ...gate,
    handlers,
    bodyTimeoutMs: limits.bodyMs,
    log,
  });
  const bare =
    options.barePath === false
      ? undefined
      : createBarePath({
          ...gate,
          executor,
          runs,
          digest: options.registry.digest,
          server: serverInfo(info, runs !== undefined),
          maxMessageBytes: limits.messageBytes,
          bodyMs: limits.bodyMs,
          log,
        });
  const port = new SharedPort({ onRequest, takeStream: bare?.serve }, limits, log);
  const bound = await listen(port.server, address);
  port.server.on("error", (error: Error) => log("error", "listener_error", { error }));

  async function shutDown(graceMs: number): Promise<void> {
    isDraining = true;
    health.stopServing();
    port.drain();
    await executor.drain(graceMs);
    runs?.close(new ToolPortError("DRAINING", "the server is shutting down"));
    health.close();
    await port.close(flushMs);
    bare?.close();
  }

  let closing: Promise<void> | undefined;
  return Object.freeze({
    address: formatAddress(bound),
    get connections() {
      return port.connections;
    },
    close(graceMs = 10_000) {
      closing ??= shutDown(graceMs);
      return closing;
    },
  });
}

function chooseAuthentication(address: Address, options: ServeOptions): Authenticate {
  const { tokens = [], allowUnauthenticated = false } = options;
  if (tokens.some((token) => !/^[\x21-\x7e]{16,}$/u.test(token))) {
    throw new ConfigurationError(
      "a bearer token must be at least 16 printable ASCII characters without spaces",
    );
  }
  if (tokens.length > 0) return bearerTokens(tokens);
  if (address.kind === "unix" || allowUnauthenticated) return anybody;
  throw new ConfigurationError(
    `serving at ${formatAddress(address)} needs a bearer token; give one, or allow unauthenticated callers explicitly`,
  );
}
