/**
 * Whether health answers while much goes on: `node bench/load.ts [seconds] [journal]`.
 *
 * Serves a tools file in a process of its own and asks it for its health every 10 ms from a thread
 * that does nothing else, in phases of some seconds (default 5) that add up: nothing; 10,000 calls at
 * once on one Run, each replaced when it ends; 500 streams whose reader never reads; a tool that
 * computes without end in a thread of its own. The goal is an answer within 100 ms, the last one
 * included. It stands and falls with the machine: `waits %` says for how much of the time the
 * sidecar's main thread was ready and other processes had the processors. `journal` is what `serve --journal` takes: memory by default.
 */
import { HealthProbe } from "./lib/health-probe.ts";
import { RawClient, type RawRun } from "./lib/raw-client.ts";
import { startSidecar } from "./lib/sidecar.ts";

const seconds = Number(process.argv[2] ?? 5);
const journal = process.argv[3] ?? "memory";
const callsAtOnce = 10_000;
const deafReaders = 500;
const goalMs = 100;

const tools = `
import { setTimeout as wait } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";
const rest = defineTool({
  name: "rest",
  description: "Takes its time.",
  parameters: { type: "object", properties: { ms: { type: "number" } } },
  execute: ({ ms }, { signal }) => wait(ms, "rested", { signal }),
});
const flood = defineTool({
  name: "flood",
  description: "Writes without end, as fast as it is read.",
  async execute(_args, { output }) {
    for (;;) await output("a line of sixty-four characters that nobody will ever read......");
  },
});
const burn = defineTool({
  name: "burn",
  description: "Computes without end.",
  isolate: "worker",
  execute() {
    for (let n = 0; ; n = (n + 1) | 0);
  },
});
export default defineTools({ tools: [rest, flood, burn] });
`;

const sidecar = await startSidecar(tools, ["--journal", journal, "--drain-grace-ms", "0"]);
const probe = new HealthProbe(sidecar.address);
const clients: RawClient[] = [];
const rows: Record<string, Record<string, number>> = {};
let ended = 0;
const over = new AbortController();
let made = 0;
const unexpected = new Map<string, number>();
try {
  await measure("nothing");

  const run = connected().run("load");
  await run.opened;
  for (let at = 0; at < callsAtOnce; at++) void keepCalling(run);
  await measure(`${callsAtOnce} calls on one Run`);

  const reader = connected();
  for (let at = 0; at < deafReaders; at++) {
    const call = { callId: `flood-${at}`, name: "flood", argumentsJson: "{}" };
    reader.execute({ request: call }).on("error", () => {});
    if (at % 5 === 4) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await measure(`and ${deafReaders} streams that nobody reads`);

  const burning = { callId: "burn", name: "burn", argumentsJson: "{}" };
  reader.execute({ request: burning }).on("error", () => {});
  await measure("and a tool that computes in a thread");
  over.abort();
} finally {
  await probe.stop();
  for (const client of clients) client.close();
  await sidecar.stop();
}
console.log(`health, asked every 10 ms; journal: ${journal}`);
console.table(rows);
for (const [what, count] of unexpected) console.log(`${count} calls ended otherwise: ${what}`);
const worst = Math.max(...Object.values(rows).map((row) => row["max ms"] ?? 0));
console.log(`slowest answer: ${worst} ms; the goal is ${goalMs} ms`);
// Connections of streams that nobody reads would keep the process.
process.exit(worst <= goalMs && unexpected.size === 0 ? 0 : 1);

function connected(): RawClient {
  const client = new RawClient(sidecar.address);
  clients.push(client);
  return client;
}

async function keepCalling(run: RawRun): Promise<void> {
  while (!over.signal.aborted) {
    made += 1;
    const request = {
      callId: `call-${made}`,
      name: "rest",
      argumentsJson: `{"ms":${Math.floor(4000 + Math.random() * 4000)}}`,
    };
    const { end } = run.call({ request });
    const how = await end;
    ended += 1;
    if (over.signal.aborted || (how.kind === "outcome" && how.errorKind === 0)) continue;
    const what = how.kind === "fault" ? how.message : how.text;
    unexpected.set(what, (unexpected.get(what) ?? 0) + 1);
  }
}

async function measure(phase: string): Promise<void> {
  await probe.figures();
  const before = ended;
  const thread = sidecar.mainThread();
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { ranMs, waitedMs } = sidecar.mainThread();
  const share = (ms: number): number => Math.round((ms * 100) / (performance.now() - start));
  const { asked, p50Ms, p99Ms, maxMs } = await probe.figures();
  rows[phase] = {
    asked,
    "p50 ms": round(p50Ms),
    "p99 ms": round(p99Ms),
    "max ms": round(maxMs),
    "runs %": share(ranMs - thread.ranMs),
    "waits %": share(waitedMs - thread.waitedMs),
    "calls/s": Math.round((ended - before) / seconds),
    "RSS MiB": Math.round(sidecar.residentBytes() / 2 ** 20),
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
