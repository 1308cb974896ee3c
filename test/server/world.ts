import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import type { DescService } from "@bufbuild/protobuf";
import type { ExecutionContext } from "ava";
import { createExecutor, type ExecutorOptions } from "../../src/execution/executor.ts";
import { createRuns } from "../../src/execution/runs.ts";
import type { LogLevel } from "../../src/internal/log.ts";
import { createSelector } from "../../src/selection/selector.ts";
import type { SelectionConfig } from "../../src/selection/config.ts";
import { type ServeOptions, serve, type ToolPortServer } from "../../src/server/serve.ts";
import { type ToolCall, ToolPortService } from "../../src/wire/v1.ts";
import { registryOf, type TestTool } from "../execution/world.ts";

/** A log that can be read. */
export interface Logged {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A server of a test, closed when the test ends. */
export interface TestServer {
  readonly server: ToolPortServer;
  /** `host:port`, or the path of the socket. */
  readonly target: string;
  readonly port: number;
  readonly logged: readonly Logged[];
}

/** What a test's server is made of. */
export interface WorldOptions extends Partial<Omit<ServeOptions, "selector">> {
  readonly selection?: SelectionConfig;
  readonly execution?: Omit<ExecutorOptions, "registry">;
}

/** What every server of this process is made with, where a test says nothing else. */
export const defaults: { barePath: boolean } = { barePath: true };

/** Serves some tools, without a credential and on a port of the system's choice unless told so. */
export async function startServer(
  t: ExecutionContext,
  tools: Readonly<Record<string, TestTool>>,
  options: WorldOptions = {},
): Promise<TestServer> {
  const { selection, execution, ...rest } = options;
  const registry = rest.registry ?? registryOf(tools);
  const executor = createExecutor({ registry, ...execution });
  const logged: Logged[] = [];
  const server = await serve({
    registry,
    executor,
    selector: createSelector(selection),
    runs: createRuns({ executor, digest: registry.digest }),
    address: "127.0.0.1:0",
    allowUnauthenticated: rest.tokens === undefined,
    log: (level, event, fields) => logged.push({ level, event, fields }),
    ...defaults,
    ...rest,
  });
  t.teardown(() => server.close(0));
  const target = server.address.replace(/^unix:/u, "");
  return { server, target, port: Number(/:(\d+)$/u.exec(server.address)?.[1] ?? 0), logged };
}

/** The ways to speak to a server. */
export const protocols = [
  "gRPC",
  "gRPC-Web h1",
  "gRPC-Web h2",
  "Connect h1",
  "Connect h2",
  "Connect JSON",
] as const;

/** A transport of one of them. */
function transportOf(
  protocol: (typeof protocols)[number],
  { port }: Pick<TestServer, "port">,
  headers: Readonly<Record<string, string>> = {},
): Transport {
  const common = {
    baseUrl: `http://127.0.0.1:${port}`,
    interceptors: [
      (next: never) => async (request: { header: Headers }) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return (next as (request: unknown) => Promise<unknown>)(request);
      },
    ] as never[],
  };
  switch (protocol) {
    case "gRPC":
      return createGrpcTransport(common);
    case "gRPC-Web h1":
      return createGrpcWebTransport({ ...common, httpVersion: "1.1" });
    case "gRPC-Web h2":
      return createGrpcWebTransport({ ...common, httpVersion: "2" });
    case "Connect h1":
      return createConnectTransport({ ...common, httpVersion: "1.1", useBinaryFormat: true });
    case "Connect h2":
      return createConnectTransport({ ...common, httpVersion: "2", useBinaryFormat: true });
    case "Connect JSON":
      return createConnectTransport({
        ...common,
        httpVersion: "1.1",
        useBinaryFormat: false,
        useHttpGet: true,
      });
  }
}

/** A client of the tool port. */
export function clientOf(
  server: Pick<TestServer, "port">,
  protocol: (typeof protocols)[number] = "gRPC",
  headers: Readonly<Record<string, string>> = {},
): Client<typeof ToolPortService> {
  return createClient(ToolPortService, transportOf(protocol, server, headers));
}

/** A client of another service. */
export function clientFor<S extends DescService>(
  service: S,
  server: Pick<TestServer, "port">,
  protocol: (typeof protocols)[number] = "gRPC",
  headers: Readonly<Record<string, string>> = {},
): Client<S> {
  return createClient(service, transportOf(protocol, server, headers));
}

let made = 0;

/** Calls a tool and waits for its ToolCall. */
export async function callTool(
  client: Client<typeof ToolPortService>,
  name: string,
  argumentsJson = "{}",
  rest: { signal?: AbortSignal; timeoutMs?: number; acceptChunks?: boolean } = {},
): Promise<ToolCall> {
  const { acceptChunks = false, ...callOptions } = rest;
  made += 1;
  const request = { callId: `call-${made}`, name, argumentsJson };
  let call: ToolCall | undefined;
  for await (const { event } of client.execute({ request, acceptChunks }, callOptions)) {
    if (event.case === "call") call = event.value;
  }
  if (!call) throw new Error("the call ended without a ToolCall");
  return call;
}

/** A folder that goes away when the test ends. */
export function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), "toolport-"));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Waits until something holds, at most ten seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error("it did not come true within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
