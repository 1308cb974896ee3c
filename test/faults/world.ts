import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { ExecutionContext } from "ava";

import { connect, type ToolPortClient } from "../../src/client/index.ts";
import { type Sidecar, Workplace } from "../cli/lib/run-cli.ts";
import { faultyTools } from "./tools-text.ts";

/** A tools file, a socket, a journal and a file of starts, over the lives of many sidecars. */
export interface World {
  readonly place: Workplace;
  readonly address: string;
  /** Where the journal is. */
  readonly journal: string;
  /** Where the tools write their starts. */
  readonly starts: string;
  /** What `serve` is given: the tools file and the flags of address and journal. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A sidecar and a client of it. */
export interface Life {
  readonly sidecar: Sidecar;
  readonly client: ToolPortClient;
  /** Ends both; returns the sidecar's exit code, null where it was killed. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Makes a world that goes when the test ends. */
export function makeWorld(t: ExecutionContext, toolsText: string = faultyTools): World {
  const place = new Workplace();
  t.teardown(() => place.remove());
  const address = `unix:${join(place.path, "port.sock")}`;
  const journal = join(place.path, "calls.db");
  const starts = join(folderForStarts(t, place.path), "starts");
  const tools = place.write("tools.ts", toolsText);
  const args = [tools, "--address", address, "--journal", journal];
  return { place, address, journal, starts, args, env: { STARTS: starts } };
}

/** Starts a sidecar in a world. */
export async function live(
  { place, address, args, env }: World,
  more: { readonly args?: readonly string[]; readonly env?: Record<string, string> } = {},
): Promise<Life> {
  const sidecar = await place.serve([...args, ...(more.args ?? [])], { ...env, ...more.env });
  const client = connect({ address });
  return {
    sidecar,
    client,
    async end(signal = "SIGTERM") {
      const ended = await sidecar.stop(signal);
      client.close();
      return ended;
    },
  };
}

/**
 * What tools write must outlive their process, not the machine; and where every start waits for a
 * disk there is hardly any load.
 */
function folderForStarts(t: ExecutionContext, otherwise: string): string {
  const base = existsSync("/dev/shm") ? "/dev/shm" : otherwise;
  const folder = mkdtempSync(join(base, "toolport-starts-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
