import { tool as langChainTool } from "@langchain/core/tools";
import test from "ava";
import { z } from "zod";
import { memoryJournal } from "../../src/journal/memory.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveField, until } from "./world.ts";

test("B88 two calls of one id without a run are two calls", async (t) => {
  const gate = Promise.withResolvers<void>();
  const tools = [
    defineTool({
      name: "slow",
      description: "d",
      async execute() {
        await gate.promise;
        return "S";
      },
    }),
    defineTool({ name: "fast", description: "d", execute: () => "F" }),
  ];
  const { client } = await serveField(t, { tools });
  const slow = client.execute({ name: "slow", callId: "c1" }).result;
  t.is((await client.execute({ name: "fast", callId: "c1" }).result).result, "F");
  gate.resolve();
  t.is((await slow).result, "S");
});

test("B88 cancelling one of two calls of one id leaves the other running", async (t) => {
  const gate = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const tools = [
    defineTool({
      name: "slow",
      description: "d",
      async execute(_args, ctx) {
        signals.push(ctx.signal);
        await gate.promise;
        return "S";
      },
    }),
  ];
  const { client } = await serveField(t, { tools });
  const first = client.execute({ name: "slow", callId: "c1" });
  const result = first.result;
  await until(() => signals.length === 1);
  const second = client.execute({ name: "slow", callId: "c1" });
  void second.result.catch(() => {});
  await until(() => signals.length === 2);
  second.cancel();
  await t.throwsAsync(second.result, { code: "CANCELLED" });
  await until(() => signals[1]?.aborted === true);
  t.false(signals[0]?.aborted);
  gate.resolve();
  t.is((await result).result, "S");
});

test("B88 in a run the same call joins, and another under its id is refused", async (t) => {
  const gate = Promise.withResolvers<void>();
  let started = 0;
  const tools = [
    defineTool({
      name: "slow",
      description: "d",
      async execute() {
        started += 1;
        await gate.promise;
        return `S${started}`;
      },
    }),
    defineTool({ name: "fast", description: "d", execute: () => "F" }),
  ];
  const { client } = await serveField(t, { tools }, { journal: memoryJournal() });
  const call = { name: "slow", callId: "c1", runId: "r1" };
  const first = client.execute(call).result;
  await until(() => started === 1);
  const joined = client.execute(call);
  void joined.result.catch(() => {});
  const leaving = client.execute(call);
  void leaving.result.catch(() => {});
  const reused = { code: "CALL_ID_REUSED" };
  await t.throwsAsync(client.execute({ ...call, name: "fast" }).result, reused);
  await t.throwsAsync(client.execute({ ...call, arguments: { a: 1 } }).result, reused);
  leaving.cancel();
  await t.throwsAsync(leaving.result, { code: "CANCELLED" });
  gate.resolve();
  t.is((await first).result, "S1");
  t.is((await joined.result).result, "S1");
  t.is(started, 1);
});

test("B89 the twin of a call that has ended can still be cancelled", async (t) => {
  const signals: AbortSignal[] = [];
  const tools = [
    defineTool({
      name: "wait",
      description: "d",
      parameters: z.object({ long: z.boolean() }),
      async execute({ long }, ctx) {
        signals.push(ctx.signal);
        if (long) await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        return "over";
      },
    }),
  ];
  const { client } = await serveField(t, { tools });
  const twin = client.execute({ name: "wait", callId: "c1", arguments: { long: true } });
  void twin.result.catch(() => {});
  await until(() => signals.length === 1);
  const first = client.execute({ name: "wait", callId: "c1", arguments: { long: false } });
  t.is((await first.result).result, "over");
  t.false(signals[0]?.aborted);
  twin.cancel();
  await t.throwsAsync(twin.result, { code: "CANCELLED" });
  await until(() => signals[0]?.aborted === true);
});

test("B89 a thousand calls that are abandoned leave no call behind", async (t) => {
  let running = 0;
  const tools = [
    defineTool({
      name: "wait",
      description: "d",
      async execute(_args, ctx) {
        running += 1;
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        running -= 1;
      },
    }),
    defineTool({ name: "fine", description: "d", execute: () => "fine" }),
  ];
  // Were places left taken, the last call would find none.
  const limits = { maxCallsInFlight: 1000, maxCallsQueued: 0 };
  const { client, call } = await serveField(t, { tools }, { limits });
  const executions = Array.from({ length: 1000 }, () => client.execute({ name: "wait" }));
  for (const execution of executions) void execution.result.catch(() => {});
  await until(() => running === 1000);
  for (const execution of executions) execution.cancel();
  await until(() => running === 0);
  t.is((await call("fine")).result, "fine");
});

for (const [title, make] of [
  [
    "defineTool",
    (record: (q: string) => void) =>
      defineTool({
        name: "search",
        description: "d",
        parameters: z.object({ q: z.string() }),
        async execute({ q }, ctx) {
          record(q);
          ctx.progress(1, 1, q);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return `found ${q}`;
        },
      }),
  ],
  [
    "one LangChain.js tool",
    (record: (q: string) => void) =>
      langChainTool(
        async ({ q }: { q: string }) => {
          record(q);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return `found ${q}`;
        },
        { name: "search", description: "d", schema: z.object({ q: z.string() }) },
      ),
  ],
] as const) {
  test(`B90 calls of one tool side by side stay apart: ${title}`, async (t) => {
    const ran: string[] = [];
    const { client } = await serveField(t, { tools: [make((q) => ran.push(q))] });
    const words = ["a", "b", "c"];
    const answers = await Promise.all(
      words.map(async (q) => {
        const messages: string[] = [];
        const execution = client.execute({ name: "search", arguments: { q }, callId: `id-${q}` });
        for await (const event of execution) {
          if (event.case === "progress") messages.push(event.value.message);
          if (event.case === "call") {
            const { id, argumentsJson, result } = event.value;
            return { id, argumentsJson, result, isOwn: messages.every((each) => each === q) };
          }
        }
        return null;
      }),
    );
    t.deepEqual(
      answers,
      words.map((q) => ({
        id: `id-${q}`,
        argumentsJson: JSON.stringify({ q }),
        result: `found ${q}`,
        isOwn: true,
      })),
    );
    t.deepEqual(ran.toSorted(), words);
  });
}
