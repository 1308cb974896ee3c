/**
 * What it costs to run a call in a worker thread: `node bench/isolation.ts [calls] [folder]`.
 *
 * Calls a tool that returns its argument, one call after another and 64 at once on one thread, and
 * prints microseconds a call beside the same through piscina and tinypool: as they are, and with the
 * channel that each call needs for its progress, output and abort to cross. They are not among this
 * package's dependencies: `npm install --no-save piscina@5.3.2 tinypool@2.2.0`, or name the folder of
 * a project that has them; one that is missing is left out. Also: partial output, and a first call.
 *
 * On two cores, with Node 24.21, in one run (one at a time, 64 at once): toolport 1 and 1, which was 23
 * microseconds; piscina 0.8 and 1.1, with channels 2.6 and 2.2; tinypool 1.6 and 1.5, with channels
 * 2.1 and 2.2. The libraries' tasks check no arguments and render no results.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread, MessageChannel, type MessagePort } from "node:worker_threads";

import type { CallRequest } from "../src/domain/call.ts";
import type { Tool } from "../src/domain/tool.ts";
import { defineTools, type ToolsDefinition } from "../src/define-tools.ts";
import { CallContext, LazySignal } from "../src/execution/context.ts";
import { createIsolation, type Isolation } from "../src/isolation/isolation.ts";
import { buildRegistry } from "../src/registry/build-registry.ts";
import { defineTool } from "../src/registry/define-tool.ts";

const calls = Number(process.argv[2] ?? 20_000);
const folder = process.argv[3] ?? join(import.meta.dirname, "..");
const rounds = 3;
const inFlight = 64;
const argumentsJson = JSON.stringify({ text: "It is 21 degrees and sunny in Lisbon. ".repeat(4) });

const echo = defineTool({
  name: "echo",
  description: "Returns its argument.",
  parameters: { type: "object", properties: { text: { type: "string" } } },
  isolate: "worker",
  execute: ({ text }) => text,
});
const writes = defineTool({
  name: "writes",
  description: "Sends partial output.",
  parameters: { type: "object", properties: { count: { type: "integer" } } },
  isolate: "worker",
  async execute({ count }, { output }) {
    for (let i = 0; i < Number(count); i += 1) await output("a line of partial output");
  },
});

/** The tools file of this benchmark is the benchmark. */
const definition: ToolsDefinition = defineTools({ tools: [echo, writes] });
// oxlint-disable-next-line import/no-default-export -- a tools file has one
export default definition;

/** What the libraries' threads run. */
export function handle({ json, port }: { json: string; port?: MessagePort }): string {
  port?.on("message", () => {});
  const { text } = JSON.parse(json) as { text: string };
  port?.close();
  return text;
}

type Call = () => Promise<unknown>;

interface Contender {
  readonly name: string;
  readonly call: Call;
  readonly close: () => Promise<unknown>;
}

async function main(): Promise<void> {
  const contenders = [await own(), ...(await library("piscina")), ...(await library("tinypool"))];
  const results = new Map<string, number[][]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, call } of contenders) {
      await measure(call, 1, 500);
      const one = await measure(call, 1, calls / 4);
      const many = await measure(call, inFlight, calls);
      results.set(name, [...(results.get(name) ?? []), [one, many]]);
    }
  }
  for (const { close } of contenders) await close();
  const base = medians(results.get("toolport") ?? []);
  console.log(`microseconds a call, medians of ${rounds} rounds of ${calls} calls, one thread`);
  console.table(
    Object.fromEntries(
      [...results].map(([name, all]) => {
        const [one = 0, many = 0] = medians(all);
        return [
          name,
          {
            "one at a time": Math.round(one),
            ratio: Number((one / (base[0] ?? 1)).toFixed(2)),
            [`${inFlight} at once`]: Math.round(many),
            "ratio at once": Number((many / (base[1] ?? 1)).toFixed(2)),
          },
        ];
      }),
    ),
  );
  await extras();
}

/** What has no counterpart in the libraries. */
async function extras(): Promise<void> {
  const { isolation, set } = isolated();
  const from = performance.now();
  await isolation.run(set.get("echo") as Tool, {}, contextOf("echo", argumentsJson));
  const first = performance.now() - from;
  const count = calls * 5;
  const begun = performance.now();
  await isolation.run(set.get("writes") as Tool, {}, contextOf("writes", `{"count":${count}}`));
  const each = ((performance.now() - begun) * 1000) / count;
  await isolation.close();
  console.log(`a first call, thread and tools file included: ${first.toFixed(0)} ms`);
  console.log(`awaited partial output: ${each.toFixed(1)} microseconds each`);
}

function isolated(): { isolation: Isolation; set: ReturnType<typeof buildRegistry> } {
  const set = buildRegistry({ tools: definition.tools });
  const toolsFile = import.meta.filename;
  return { isolation: createIsolation({ toolsFile, digest: set.digest, maxWorkers: 1 }), set };
}

async function own(): Promise<Contender> {
  const { isolation, set } = isolated();
  const tool = set.get("echo") as Tool;
  return {
    name: "toolport",
    call: () => isolation.run(tool, {}, contextOf("echo", argumentsJson)),
    close: () => isolation.close(),
  };
}

let made = 0;

function contextOf(name: string, json: string): CallContext {
  const request: CallRequest = {
    runId: "",
    callId: `call-${(made += 1)}`,
    name,
    argumentsJson: json,
    timeoutMs: undefined,
    expectedDigest: "",
    onDisconnect: "abort",
    metadata: {},
    acceptChunks: false,
  };
  const hooks = { emit: () => {}, room: () => undefined };
  return new CallContext(request, "", 1, undefined, new LazySignal(), hooks);
}

interface LibraryPool {
  run(task: unknown, options?: object): Promise<unknown>;
  destroy(): Promise<void>;
}

async function library(name: "piscina" | "tinypool"): Promise<Contender[]> {
  const Pool = await load(name);
  if (!Pool) return [];
  const open = (): LibraryPool =>
    new Pool({
      filename: name === "piscina" ? import.meta.filename : import.meta.url,
      name: "handle",
      minThreads: 1,
      maxThreads: 1,
      // Else an idle thread sleeps where its timers and what a tool left behind can't run.
      ...(name === "piscina" ? { atomics: "disabled" } : { useAtomics: false }),
    });
  const bare = open();
  const full = open();
  const json = argumentsJson;
  return [
    { name: `${name}, bare`, call: () => bare.run({ json }), close: () => bare.destroy() },
    {
      name: `${name}, a channel a call`,
      async call() {
        const { port1, port2 } = new MessageChannel();
        port1.on("message", () => {});
        try {
          return await full.run({ json, port: port2 }, { transferList: [port2] });
        } finally {
          port1.close();
        }
      },
      close: () => full.destroy(),
    },
  ];
}

async function load(name: string): Promise<(new (options: object) => LibraryPool) | undefined> {
  for (const file of ["dist/esm-wrapper.mjs", "dist/index.js"]) {
    const path = join(folder, "node_modules", name, file);
    if (!existsSync(path)) continue;
    const module = (await import(pathToFileURL(path).href)) as Record<string, never>;
    return module["Piscina"] ?? module["Tinypool"];
  }
  console.log(`${name} is not installed in ${folder}, so it is left out`);
  return undefined;
}

/** @returns microseconds a call */
async function measure(call: Call, width: number, count: number): Promise<number> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: width }, lane));
  return ((performance.now() - from) * 1000) / count;
}

function medians(all: readonly (readonly number[])[]): number[] {
  return [0, 1].map((column) => median(all.map((row) => row[column] ?? 0)));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

if (isMainThread) await main();
