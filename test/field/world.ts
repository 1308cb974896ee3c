import type { ExecutionContext } from "ava";
import { connect, type ToolPortClient } from "../../src/client/index.ts";
import { defineTools, type ToolsInput } from "../../src/define-tools.ts";
import { createToolPort, type ToolPortOptions } from "../../src/port.ts";
import { serve, type ServePortOptions } from "../../src/serve-port.ts";
import type { ToolCall } from "../../src/wire/v1.ts";

/** One event of a log. */
export interface Logged {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A set of tools served to a kernel over a real socket, until the test ends. */
export interface Field {
  readonly client: ToolPortClient;
  readonly address: string;
  /** The TCP port; 0 on a unix socket. */
  readonly port: number;
  readonly logged: readonly Logged[];
  /** Calls a tool by its exact name with arguments as JSON text, and gives what it came to. */
  call(name: string, argumentsJson?: string): Promise<ToolCall>;
  /** The schema that the manifest lists for a tool. */
  schemaOf(name: string): Promise<Schema>;
}

/** A JSON Schema as a test reads it. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

/** Serves what a tools file would offer, as the command line does. */
export async function serveField(
  t: ExecutionContext,
  input: ToolsInput,
  options: ToolPortOptions & Partial<ServePortOptions> = {},
): Promise<Field> {
  const logged: Logged[] = [];
  const port = createToolPort(defineTools(input), {
    log: (level, event, fields) => logged.push({ level, event, fields }),
    ...(options.journal && { journal: options.journal }),
    ...(options.limits && { limits: options.limits }),
  });
  const server = await serve(port, {
    address: options.address ?? "127.0.0.1:0",
    tokens: options.tokens,
    allowUnauthenticated: options.tokens === undefined,
  });
  const token = options.tokens?.[0];
  const client = connect({
    address: server.address,
    ...(token === undefined ? {} : { token }),
    ...(options.limits?.maxMessageBytes && { maxMessageBytes: options.limits.maxMessageBytes }),
  });
  t.teardown(async () => {
    client.close();
    await server.close(0);
  });
  return {
    client,
    address: server.address,
    port: Number(/:(\d+)$/u.exec(server.address)?.[1] ?? 0),
    logged,
    call: async (name, argumentsJson = "{}") =>
      await client.execute({ name, argumentsJson }).result,
    async schemaOf(name) {
      const { tools } = await client.manifest({ includeHidden: true, names: { names: [name] } });
      return JSON.parse(tools[0]?.inputSchemaJson ?? "null") as Schema;
    },
  };
}

/** Waits until something holds, at most ten seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error("it did not come true within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
