import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type ExecutionContext } from "ava";
import { connect, type ToolPortClient, type ToolPortError } from "../../src/client/index.ts";
import { createToolPort, defineTool, defineTools, serve } from "../../src/index.ts";
import type { JsonValue } from "../../src/domain/json.ts";
import { memoryJournal } from "../../src/journal/memory.ts";

const tools = [
  defineTool({ name: "echo", description: "d", execute: (args) => args as JsonValue }),
  defineTool({
    name: "wait",
    description: "d",
    execute: async (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  }),
  defineTool({
    name: "ask",
    description: "d",
    runAware: true,
    execute: async (args, { run }) => ({ answer: await run?.ask("approve", args as JsonValue) }),
  }),
  defineTool({
    name: "count",
    description: "d",
    execute: async function* () {
      for (let n = 1; n <= 5000; n += 1) yield n;
      return "counted";
    },
  }),
  defineTool({
    name: "boom",
    description: "d",
    execute: () => {
      throw new RangeError("no");
    },
  }),
];

async function served(t: ExecutionContext): Promise<ToolPortClient> {
  const folder = mkdtempSync(join(tmpdir(), "toolport-test-"));
  const port = createToolPort(defineTools({ tools }), { journal: memoryJournal() });
  const server = await serve(port, { address: `unix:${join(folder, "port.sock")}` });
  const client = connect({ address: server.address });
  t.teardown(async () => {
    client.close();
    await server.close(100);
    rmSync(folder, { recursive: true });
  });
  return client;
}

test("many calls share a run, and each has its own end", async (t) => {
  const client = await served(t);
  const run = client.run("r");
  const { digest, resumed } = await run.opened;
  t.regex(digest, /^sha256:/u);
  t.false(resumed);
  const calls = Array.from({ length: 1000 }, (_, n) =>
    run.execute({ name: "echo", arguments: { n } }),
  );
  const results = await Promise.all(calls.map((call) => call.result));
  t.deepEqual(
    results.map(({ result }) => result),
    Array.from({ length: 1000 }, (_, n) => `{"n":${n}}`),
  );
  t.is((await run.execute({ name: "boom" }).result).error, "RangeError: no");
  await run.close();
  t.is(await run.ended, undefined);
  await t.throwsAsync<ToolPortError>(run.execute({ name: "echo" }).result, { code: "RUN_ENDED" });
});

test("a call is cancelled by its own handle, signal, deadline or loop, and the others go on", async (t) => {
  const client = await served(t);
  const run = client.run("r");
  const cancelled = run.execute({ name: "wait" });
  cancelled.cancel();
  await t.throwsAsync<ToolPortError>(cancelled.result, { code: "CANCELLED" });
  const late = run.execute({ name: "wait" }, { deadlineMs: 20 });
  await t.throwsAsync<ToolPortError>(late.result, { code: "DEADLINE_EXCEEDED" });
  const controller = new AbortController();
  const signalled = run.execute({ name: "wait" }, { signal: controller.signal });
  controller.abort();
  await t.throwsAsync<ToolPortError>(signalled.result, { code: "CANCELLED" });
  const left = run.execute({ name: "count" });
  for await (const event of left) if (event.case === "output") break;
  await t.throwsAsync<ToolPortError>(left.result, { code: "CANCELLED" });
  t.is((await run.execute({ name: "echo" }).result).result, "{}");
  await run.close();
});

test("a reader that is slow gets every event, and holds up no other call", async (t) => {
  const client = await served(t);
  const run = client.run("r");
  const slow = run.execute({ name: "count" });
  t.is((await run.execute({ name: "echo" }).result).result, "{}");
  let outputs = 0;
  for await (const event of slow) if (event.case === "output") outputs += 1;
  t.is(outputs, 5000);
  t.is((await slow.result).result, "counted");
  await run.close();
});

test("run-aware tools are answered by the run's hosts", async (t) => {
  const client = await served(t);
  const run = client.run("r", {
    hosts: {
      approve: async (payload, { callId }) => {
        if (JSON.stringify(payload) === "{}") throw new Error("nothing to approve");
        return { callId, payload };
      },
    },
  });
  const asked = await run.execute({ name: "ask", callId: "c1", arguments: { sum: 3 } }).result;
  t.is(asked.result, '{"answer":{"callId":"c1","payload":{"sum":3}}}');
  const refused = run.execute({ name: "ask", callId: "c2" });
  const closing = run.close();
  t.is((await refused.result).error, "ToolPortError: nothing to approve");
  await closing;
  const without = client.run("r2");
  t.regex(
    (await without.execute({ name: "ask" }).result).error ?? "",
    /no host function "approve"/u,
  );
  without.cancel();
  t.is((await without.ended)?.code, "CANCELLED");
});

test("a call of a run asked again is replayed, over Run or Execute", async (t) => {
  const client = await served(t);
  const run = client.run("r");
  const call = { name: "echo", callId: "c", arguments: { a: 1 } };
  const first = await run.execute(call).result;
  t.false(first.replayed);
  t.true((await run.execute(call).result).replayed);
  t.true((await client.execute({ ...call, runId: "r" }).result).replayed);
  const reused = run.execute({ ...call, arguments: { a: 2 } });
  await t.throwsAsync<ToolPortError>(reused.result, { code: "CALL_ID_REUSED" });
  await run.close();
});

test("a run that is refused or taken over says so to every call", async (t) => {
  const client = await served(t);
  const refused = client.run("r", { expectedDigest: "sha256:other" });
  await t.throwsAsync<ToolPortError>(refused.opened, { code: "DIGEST_MISMATCH" });
  await t.throwsAsync<ToolPortError>(refused.close(), { code: "DIGEST_MISMATCH" });
  const first = client.run("r");
  await first.opened;
  const call = first.execute({ name: "wait" });
  const second = client.run("r");
  await second.opened;
  await t.throwsAsync<ToolPortError>(call.result, { code: "RUN_TAKEN_OVER" });
  second.cancel();
});
