import { setTimeout as wait } from "node:timers/promises";
import { tool as langChainTool } from "@langchain/core/tools";
import test from "ava";
import { z } from "zod";
import type { ToolPortClient } from "../../src/client/index.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind, type ToolCall } from "../../src/wire/v1.ts";
import { serveField, until } from "./world.ts";

interface Seen {
  readonly outputs: readonly string[];
  readonly kinds: readonly string[];
  readonly call: ToolCall | undefined;
}

async function watch(client: ToolPortClient, name: string): Promise<Seen> {
  const outputs: string[] = [];
  const kinds: string[] = [];
  let call: ToolCall | undefined;
  for await (const event of client.execute({ name })) {
    kinds.push(event.case);
    if (event.case === "call") call = event.value;
    if (event.case === "output" && event.value.output.case !== "content") {
      outputs.push(event.value.output.value ?? "");
    }
  }
  return { outputs, kinds, call };
}

test("B50 a tool that ignores its time limit is left behind: one end, its signal fired, its place free", async (t) => {
  let signal: AbortSignal | undefined;
  let finished = false;
  const tools = [
    defineTool({
      name: "deaf",
      description: "Ignores its signal",
      timeoutMs: 100,
      async execute(_args, ctx) {
        ({ signal } = ctx);
        await wait(300);
        ctx.progress(1);
        finished = true;
        return "late";
      },
    }),
  ];
  const { client, logged } = await serveField(t, { tools });
  const { kinds, call } = await watch(client, "deaf");
  t.deepEqual(kinds, ["call"]);
  t.is(call?.errorKind, ErrorKind.TIMED_OUT);
  t.regex(call?.error ?? "", /^TimedOut: /u);
  t.true(signal?.aborted);
  t.false(finished);
  await until(() => finished);
  await until(() => logged.some(({ event }) => event.includes("late")));
  t.is((await client.execute({ name: "deaf" }).result).errorKind, ErrorKind.TIMED_OUT);
});

test("B54 progress arrives while the tool runs, in order, and before its end", async (t) => {
  const gate = Promise.withResolvers<void>();
  const tools = [
    defineTool({
      name: "steps",
      description: "Works in steps",
      async execute(_args, ctx) {
        for (let done = 1; done <= 5; done += 1) ctx.progress(done, 5);
        await gate.promise;
        return "done";
      },
    }),
    defineTool({
      name: "burst",
      description: "Reports all at once",
      execute(_args, ctx) {
        for (let done = 1; done <= 1000; done += 1) ctx.progress(done, 1000);
        return "done";
      },
    }),
  ];
  const { client } = await serveField(t, { tools });
  const seen: number[] = [];
  for await (const event of client.execute({ name: "steps" })) {
    if (event.case === "progress") seen.push(event.value.done);
    // The tool waits for this, so all five came before it ended.
    if (seen.length === 5) gate.resolve();
  }
  t.deepEqual(seen, [1, 2, 3, 4, 5]);

  const burst: number[] = [];
  let last = "";
  for await (const event of client.execute({ name: "burst" })) {
    last = event.case;
    if (event.case === "progress") burst.push(event.value.done);
  }
  t.is(last, "call");
  t.deepEqual(
    burst,
    burst.toSorted((a, b) => a - b),
  );
  t.is(burst.at(-1), 1000);
});

async function* three(): AsyncGenerator<object, void, undefined> {
  yield { s: "start" };
  await wait(1);
  yield { s: "half" };
  yield { s: "done", n: 3 };
}

const yielded = ['{"s":"start"}', '{"s":"half"}', '{"s":"done","n":3}'];

const styles: readonly (readonly [string, object])[] = [
  ["defineTool", { tools: [defineTool({ name: "gen", description: "d", execute: three })] }],
  [
    "a plain function that returns an iterable",
    { tools: [defineTool({ name: "gen", description: "d", execute: () => three() })] },
  ],
  [
    "a LangChain.js tool",
    {
      tools: [
        langChainTool((() => three()) as never, {
          name: "gen",
          description: "d",
          schema: z.object({}),
        }),
      ],
    },
  ],
  [
    "a capability's description",
    { capabilities: [{ name: "c", tools: [{ name: "gen", description: "d", execute: three }] }] },
  ],
  [
    "a capability's description of a tool",
    {
      capabilities: [
        {
          name: "c",
          tools: [
            {
              name: "gen",
              description: "d",
              execute: defineTool({ name: "inner", description: "d", execute: three }),
            },
          ],
        },
      ],
    },
  ],
];

for (const [title, input] of styles) {
  test(`B56 each yield of ${title} is output, and the last is the result too`, async (t) => {
    const { client } = await serveField(t, input);
    const { outputs, call } = await watch(client, "gen");
    t.deepEqual(outputs, yielded);
    t.is(call?.result, yielded[2], call?.error);
  });
}

test("B57 what a generator returns is its result, not its last yield", async (t) => {
  const tools = [
    defineTool({
      name: "returns",
      description: "d",
      async *execute() {
        yield await Promise.resolve("working");
        return "answer";
      },
    }),
    defineTool({
      name: "throws",
      description: "d",
      *execute() {
        yield "working";
        throw new RangeError("no more");
      },
    }),
    defineTool({
      name: "empty",
      description: "d",
      *execute() {},
    }),
  ];
  const { client } = await serveField(t, { tools });
  const returns = await watch(client, "returns");
  t.deepEqual(returns.outputs, ["working"]);
  t.is(returns.call?.result, "answer");
  const throws = await watch(client, "throws");
  t.deepEqual(throws.outputs, ["working"]);
  t.is(throws.call?.error, "RangeError: no more");
  const empty = await watch(client, "empty");
  t.deepEqual(empty.outputs, []);
  t.is(empty.call?.result, "null");
});
