import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTools, type ToolsInput } from "../../../src/define-tools.ts";
import { createToolPort } from "../../../src/port.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { register } from "../../../src/registry/register.ts";
import { serve } from "../../../src/serve-port.ts";
import type { ToolPortServer } from "../../../src/server/serve.ts";
import { readCases } from "./cases.ts";
import { registrationFromCase, type RegistrationSpec } from "./registration-from-case.ts";
import { selectionFromCase, type SelectionSpec } from "./selection-from-case.ts";
import { type BehaviorSpec, toolFromCase, type ToolSpec } from "./tool-from-case.ts";

/** Cases that are served, each with a set of its own. */
export interface ServedCases {
  /** Where each case is served, by its id. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Ends the servers and removes their sockets. */
  close(): Promise<void>;
}

/** What each group that goes over the wire serves for a case; null: no wire can carry it. */
const groups: Readonly<Record<string, (input: never) => ToolsInput | null>> = {
  execute: executeSet,
  refuse: () => ({}),
  selection: selectionSet,
  descriptors: descriptorSet,
};

/** Serves every case that goes over the wire. */
export async function serveCases(): Promise<ServedCases> {
  const folder = await mkdtemp(join(tmpdir(), "toolport-cases-"));
  const servers: ToolPortServer[] = [];
  const addresses: Record<string, string> = {};
  for (const [group, setOf] of Object.entries(groups)) {
    for (const { id, input } of readCases<never, unknown>(group)) {
      const set = setOf(input);
      if (!set) continue;
      // A socket's path has to be short.
      const address = `unix:${join(folder, `${servers.length}.sock`)}`;
      const port = createToolPort(defineTools(set));
      // One after the other: the permissions of a socket are set process-wide while it is made.
      servers.push(await serve(port, { address }));
      addresses[id] = address;
    }
  }
  return {
    addresses,
    async close() {
      await Promise.all(servers.map((server) => server.close(0)));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface ExecuteInput {
  readonly tools: readonly ToolSpec[];
  readonly run_aware?: Readonly<Record<string, BehaviorSpec>>;
}

function executeSet({ tools, run_aware: aware = {} }: ExecuteInput): ToolsInput {
  return {
    tools: tools.map((spec) => {
      const runAware = aware[spec.name ?? ""];
      return toolFromCase(spec, runAware && { runAware });
    }),
  };
}

interface SelectionInput extends SelectionSpec {
  readonly tools: readonly (string | (ToolSpec & { readonly unnamed?: string }))[];
}

function selectionSet(input: SelectionInput): ToolsInput | null {
  if (input.tools.some((tool) => typeof tool === "object" && tool.unnamed !== undefined)) {
    return null;
  }
  const tools = input.tools.map((spec) =>
    toolFromCase(typeof spec === "string" ? { name: spec } : spec),
  );
  return { tools, ...selectionFromCase(input) };
}

interface DescriptorInput {
  readonly tool?: ToolSpec;
  readonly registration?: RegistrationSpec | null;
  readonly manifest?: { readonly entries: readonly string[] };
}

function descriptorSet({ tool, registration, manifest }: DescriptorInput): ToolsInput | null {
  if (manifest) return { tools: manifest.entries.map(toolOfEntry) };
  if (tool?.form === "object") return objectSet(tool.attrs ?? {});
  const made = toolFromCase(tool ?? {});
  return { tools: [registration ? register(made, registrationFromCase(registration)) : made] };
}

/** Anything can be described, but only tools are served: the object lends its name and text. */
function objectSet({ name, description }: Readonly<Record<string, unknown>>): ToolsInput | null {
  if (typeof name !== "string") return null;
  const text = typeof description === "string" ? description : "";
  const tools = [{ name, description: text, execute: () => "ok" }];
  return { capabilities: [{ name: "objects", tools }] };
}

function toolOfEntry(entry: string): unknown {
  const [name = "", description = ""] = entry.split(": ");
  return defineTool({ name, description, execute: () => "ok" });
}
