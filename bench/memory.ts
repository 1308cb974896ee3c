/**
 * Whether calls leave anything behind: `node bench/memory.ts [calls] [journal] [endings]`.
 *
 * Serves a tools file in a process of its own and has it end calls in every way, one way after the
 * other: with a result, with an error, out of the tool's time, cancelled, with the connection lost,
 * past the caller's deadline; each `calls` times (default 200,000), most of them on live runs of 1,000
 * calls. Prints the heap of the sidecar, after a collection of garbage, at each fifth of the way. The
 * goal is that it is flat. `journal` is what `serve --journal` takes: none by default; one in memory
 * is bounded to 16 MiB. `endings` are those to try, with commas between them.
 */
import { RawClient, type End, type RawRun } from "./lib/raw-client.ts";
import { startSidecar } from "./lib/sidecar.ts";

const calls = Number(process.argv[2] ?? 200_000);
const journal = process.argv[3] ?? "none";
const wanted = process.argv[4]?.split(",");
const callsPerRun = 1000;
const inFlight = 100;
const intervals = 5;

const tools = `
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineTool, defineTools } from "toolport";
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const answer = defineTool({ name: "answer", description: "Ends well.", execute: () => "done" });
const fail = defineTool({
  name: "fail",
  description: "Throws.",
  execute() {
    throw new RangeError("it always does");
  },
});
const hang = defineTool({
  name: "hang",
  description: "Waits until it is told to stop.",
  execute: (_args, { signal }) =>
    new Promise((_resolve, reject) => {
      const timer = setTimeout(reject, 60_000);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
});
const heap = defineTool({
  name: "heap",
  description: "Tells the heap's size after a collection.",
  async execute() {
    for (let time = 0; time < 3; time++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      collect();
    }
    return process.memoryUsage().heapUsed;
  },
});
export default defineTools({ tools: [answer, fail, hang, heap] });
`;

type Ending = (run: RawRun, callId: string) => Promise<End>;

const endings: Readonly<Record<string, Ending>> = {
  result: (run, callId) => run.call({ request: { callId, name: "answer" } }).end,
  error: (run, callId) => run.call({ request: { callId, name: "fail" } }).end,
  "time limit": (run, callId) => run.call({ request: { callId, name: "hang" }, timeoutMs: 5 }).end,
  cancel(run, callId) {
    const { tag, end } = run.call({ request: { callId, name: "hang" } });
    setTimeout(() => run.cancel(tag), 5);
    return end;
  },
  deadline: (run, callId) => run.call({ request: { callId, name: "hang" } }, 5).end,
};

const sidecar = await startSidecar(tools, [
  ...["--journal", journal, "--drain-grace-ms", "0"],
  ...(journal === "memory" ? ["--journal-max-bytes", String(16 * 2 ** 20)] : []),
]);
const rows: Record<string, Record<string, number | string>> = {};
try {
  // What is compiled, and pooled, once.
  for (const name of Object.keys(endings)) await onRuns(`warm-${name}`, name, 2 * callsPerRun);
  await byDisconnect("warm", callsPerRun);
  console.log(
    `heap of the sidecar in MiB, after ${calls} calls of each ending; journal: ${journal}`,
  );
  for (const name of wanted ?? [...Object.keys(endings), "disconnect"]) {
    const start = performance.now();
    const row: Record<string, number | string> = { before: await heapMib() };
    const counts = new Map<string, number>();
    for (let at = 1; at <= intervals; at++) {
      const some = Math.ceil(calls / intervals);
      const prefix = `${name}-${at}`;
      const ends =
        name === "disconnect" ? await byDisconnect(prefix, some) : await onRuns(prefix, name, some);
      for (const [end, count] of ends) counts.set(end, (counts.get(end) ?? 0) + count);
      row[`${(at * 100) / intervals}%`] = await heapMib();
    }
    row["calls/s"] = Math.round(calls / ((performance.now() - start) / 1000));
    row["ended"] = [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
    rows[name] = row;
    console.log(name, JSON.stringify(row));
  }
} finally {
  await sidecar.stop();
}
console.table(rows);

async function onRuns(prefix: string, name: string, count: number): Promise<Map<string, number>> {
  const client = new RawClient(sidecar.address);
  const ending = endings[name];
  if (!ending) throw new TypeError(`there is no ending ${name}`);
  const ends = new Map<string, number>();
  for (let done = 0; done < count; done += callsPerRun) {
    const run = client.run(`${prefix}-${done}`);
    await run.opened;
    let next = 0;
    const size = Math.min(callsPerRun, count - done);
    const worker = async (): Promise<void> => {
      while (next < size) {
        next += 1;
        const end = await ending(run, `call-${next}`);
        const what = end.kind === "fault" ? `fault ${end.code}` : `outcome ${end.errorKind}`;
        ends.set(what, (ends.get(what) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    await run.end();
  }
  client.close();
  return ends;
}

async function byDisconnect(prefix: string, count: number): Promise<Map<string, number>> {
  for (let done = 0; done < count; done += inFlight) {
    const client = new RawClient(sidecar.address);
    const run = client.run(`${prefix}-${done}`);
    await run.opened;
    const ends = Array.from(
      { length: inFlight },
      (_, at) => run.call({ request: { callId: `call-${at}`, name: "hang" } }).end,
    );
    // The last one's end says that those before it have started.
    await run.call({ request: { callId: "last", name: "answer" } }).end;
    run.abandon();
    client.close();
    await Promise.all(ends);
  }
  return new Map([["lost", count]]);
}

async function heapMib(): Promise<number> {
  const client = new RawClient(sidecar.address);
  const run = client.run(`heap-${performance.now()}`);
  await run.opened;
  const end = await run.call({ request: { callId: "heap", name: "heap" } }).end;
  await run.end();
  client.close();
  if (end.kind === "fault") throw new Error(end.message);
  return Math.round((Number(end.text) / 2 ** 20) * 100) / 100;
}
