import { getEventListeners } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { tool as langChainTool } from "@langchain/core/tools";
import test from "ava";
import { z } from "zod";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveField, until } from "./world.ts";

for (const [title, schema, argumentsJson] of [
  ["a string", z.string(), '{"input":"x"}'],
  ["an object", z.object({ input: z.string() }), '{"input":"x"}'],
] as const) {
  test(`B28 a LangChain.js tool of ${title} gets the signal and the call's id, and stops`, async (t) => {
    let seen: { signal?: AbortSignal; toolCall?: { id?: string } } | undefined;
    let stopped = false;
    const nap = langChainTool(
      async (_input: unknown, config) => {
        seen = config as typeof seen;
        await wait(60_000, null, { signal: config.signal }).catch(() => {
          stopped = true;
        });
        return "";
      },
      { name: "nap", description: "d", schema: schema as z.ZodString },
    );
    const { client } = await serveField(t, { tools: [nap] });
    const execution = client.execute({ name: "nap", argumentsJson, callId: "nap-1" });
    void execution.result.catch(() => {});
    await until(() => seen !== undefined);
    t.is(seen?.toolCall?.id, "nap-1");
    t.false(seen?.signal?.aborted);
    execution.cancel();
    await until(() => stopped);
    t.true(seen?.signal?.aborted);
    await t.throwsAsync(execution.result, { code: "CANCELLED" });
  });
}

test("B51 a generator is ended when its caller has gone, and produces no more", async (t) => {
  let ticks = 0;
  let cleaned = false;
  const tools = [
    defineTool({
      name: "tick",
      description: "Ticks",
      async *execute() {
        try {
          for (;;) {
            ticks += 1;
            yield "tick";
            await wait(20);
          }
        } finally {
          cleaned = true;
        }
      },
    }),
  ];
  const { client } = await serveField(t, { tools });
  let seen = 0;
  for await (const { case: kind } of client.execute({ name: "tick" })) {
    if (kind === "output" && (seen += 1) === 3) break;
  }
  await until(() => cleaned);
  const after = ticks;
  await wait(100);
  t.is(ticks, after);
});

test("B51 a generator that is stuck does not hold the call, nor the shutdown", async (t) => {
  let signal: AbortSignal | undefined;
  const tools = [
    defineTool({
      name: "stuck",
      description: "Waits for ever",
      async *execute(_args, ctx) {
        ({ signal } = ctx);
        yield "once";
        await new Promise(() => {});
      },
    }),
  ];
  const { client, call } = await serveField(
    t,
    { tools: [...tools, defineTool({ name: "fine", description: "d", execute: () => "fine" })] },
    {},
  );
  const execution = client.execute({ name: "stuck" });
  for await (const { case: kind } of execution) if (kind === "output") break;
  await t.throwsAsync(execution.result, { code: "CANCELLED" });
  await until(() => signal?.aborted === true);
  t.is((await call("fine")).result, "fine");
});

test("B53 a signal that is shared by many calls gathers no listeners", async (t) => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", onWarning);
  t.teardown(() => process.off("warning", onWarning));
  const tools = [
    defineTool({
      name: "count",
      description: "Reports often",
      parameters: z.object({ times: z.number() }),
      execute({ times }, ctx) {
        for (let done = 1; done <= times; done += 1) ctx.progress(done, times);
        return ctx.signal.aborted;
      },
    }),
  ];
  const { client } = await serveField(t, { tools });
  const { signal } = new AbortController();
  const run = async (times: number): Promise<string | undefined> => {
    const call = { name: "count", arguments: { times } };
    return (await client.execute(call, { signal }).result).result;
  };
  for (let round = 0; round < 200; round += 1) await run(1);
  t.is(await run(200), "false");
  await until(() => getEventListeners(signal, "abort").length === 0);
  t.deepEqual(warnings, []);
});
