import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExecutionContext } from "ava";

import { connect, type ExecutionEvent, type ToolPortClient } from "../../src/client/index.ts";
import { defineTools, type ToolsInput } from "../../src/define-tools.ts";
import { mcp, type McpMount, type MountOptions } from "../../src/mounts/mcp.ts";
import { openToolPort, type ToolPort } from "../../src/port.ts";
import { serve } from "../../src/serve-port.ts";
import type { ToolCall } from "../../src/wire/v1.ts";
import type { Logged } from "../field/world.ts";
import type { Script } from "./servers/scripted.ts";

const servers = join(import.meta.dirname, "servers");

/** Mounts a server that does what its script says. */
export function scripted(script: Script, options: MountOptions = {}): McpMount {
  return mcp({
    ...options,
    command: process.execPath,
    args: [join(servers, "scripted.ts"), JSON.stringify(script)],
  });
}

/** Mounts the story over standard streams. */
export function story(
  options: MountOptions & { readonly env?: Readonly<Record<string, string>> } = {},
  ...args: readonly string[]
): McpMount {
  return mcp({
    ...options,
    command: process.execPath,
    args: [join(servers, "story-stdio.ts"), ...args],
  });
}

/** A tool as a scripted server lists it, that takes anything. */
export function listed(name: string, rest: object = {}): object {
  return { name, description: "Is listed.", inputSchema: { type: "object" }, ...rest };
}

/** A set with mounts, served to a kernel over a real socket until the test ends. */
export interface Mounted {
  readonly port: ToolPort;
  readonly client: ToolPortClient;
  readonly logged: readonly Logged[];
  /** The names of the tools in the manifest. */
  names(): Promise<readonly string[]>;
  call(name: string, argumentsJson?: string): Promise<ToolCall>;
  /** Calls a tool and gathers what happens on the way. */
  follow(
    name: string,
    argumentsJson?: string,
  ): Promise<{ events: ExecutionEvent[]; call: ToolCall }>;
  /** Ends the sidecar, as at the end of the test. */
  close(): Promise<void>;
}

/** Opens and serves a set. */
export async function serveMounts(
  t: ExecutionContext,
  capabilities: NonNullable<ToolsInput["capabilities"]>,
  rest: Omit<ToolsInput, "capabilities"> = {},
): Promise<Mounted> {
  const logged: Logged[] = [];
  const port = await openToolPort(defineTools({ ...rest, capabilities }), {
    log: (level, event, fields) => logged.push({ level, event, fields }),
  });
  const server = await serve(port, { address: "127.0.0.1:0", allowUnauthenticated: true });
  const client = connect({ address: server.address });
  const close = async (): Promise<void> => {
    client.close();
    await server.close(0);
  };
  t.teardown(close);
  return {
    port,
    client,
    logged,
    close,
    names: async () => (await client.manifest()).tools.map(({ name }) => name),
    call: async (name, argumentsJson = "{}") =>
      await client.execute({ name, argumentsJson }).result,
    async follow(name, argumentsJson = "{}") {
      const execution = client.execute({ name, argumentsJson });
      const events: ExecutionEvent[] = [];
      for await (const event of execution) events.push(event);
      return { events, call: await execution.result };
    },
  };
}

/** A folder that goes with the test. */
export function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), "toolport-mounts-"));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The lines of a file; none where it does not exist. */
export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
