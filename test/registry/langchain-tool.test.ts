import { DynamicStructuredTool, DynamicTool, StructuredTool, tool } from "@langchain/core/tools";
import { ToolMessage } from "@langchain/core/messages";
import test from "ava";
import { z } from "zod";
import { call } from "./world.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";

test("a tool of one string advertises an object with that string", async (t) => {
  const lookup = new DynamicTool({
    name: "lookup",
    description: "d",
    func: async (text) => `got ${text}`,
  });
  t.deepEqual(schemaOf(lookup), {
    type: "object",
    properties: { input: { type: "string" } },
    required: ["input"],
  });
  t.deepEqual(await call(lookup, '{"input":"abc"}'), { value: "got abc" });
  for (const text of ["{}", '{"query":"abc"}']) {
    t.deepEqual(await call(lookup, text), { refused: "input is missing: it must be string" });
  }
});

for (const [title, schema, args] of [
  ["a string", z.string(), '{"input":"x"}'],
  ["an object", z.object({ q: z.string() }), '{"q":"x"}'],
] as const) {
  test(`a tool of ${title} gets the call's signal and id in its config`, async (t) => {
    const { signal } = new AbortController();
    const nap = tool(
      (_input: unknown, config: { signal?: AbortSignal; toolCall?: { id?: string } }) => [
        config.signal === signal,
        config.toolCall?.id,
      ],
      { name: "nap", description: "d", schema: schema as z.ZodObject },
    );
    t.deepEqual(await call(nap, args, { signal, callId: "call-9" }), { value: [true, "call-9"] });
  });
}

test("a cancelled call ends a structured tool that ignores its signal", async (t) => {
  const controller = new AbortController();
  const nap = tool(() => new Promise<string>(() => {}), {
    name: "nap",
    description: "d",
    schema: z.object({}),
  });
  const called = call(nap, "{}", { signal: controller.signal });
  setTimeout(() => controller.abort(), 10);
  await t.throwsAsync(called);
});

test("arguments that look like a tool call's envelope are arguments", async (t) => {
  const echo = tool((args) => args, {
    name: "t",
    description: "d",
    schema: z.object({ type: z.string() }),
  });
  t.deepEqual(
    await call(echo, '{"type":"tool_call","id":"x","name":"t","args":{"type":"smuggled"}}'),
    { value: { type: "tool_call" } },
  );
});

test("a schema's transform runs once", async (t) => {
  const half = tool(({ n }) => n, {
    name: "half",
    description: "d",
    schema: z.object({ n: z.number().transform((n) => n / 2) }),
  });
  t.deepEqual(await call(half, '{"n":8}'), { value: 4 });
});

test("a tool with a JSON Schema is validated, passes undeclared keys and fills defaults", async (t) => {
  const raw = new DynamicStructuredTool({
    name: "raw",
    description: "d",
    schema: {
      type: "object",
      properties: { q: { type: "string" }, limit: { type: "integer", default: 5 } },
      required: ["q"],
    },
    func: async (args) => JSON.stringify(args),
  });
  t.deepEqual(await call(raw, '{"q":"x","more":1}'), { value: '{"q":"x","more":1,"limit":5}' });
  t.deepEqual(await call(raw, '{"q":5}'), { refused: "q must be string, got 5" });
});

test("a class of the adopter's own is a tool", async (t) => {
  class Greet extends StructuredTool {
    name = "greet";
    description = "Greets.\nMore.";
    schema = z.object({ who: z.string() });
    protected override async _call({ who }: { who: string }): Promise<string> {
      return `hello ${who}`;
    }
  }
  const greet = new Greet();
  t.deepEqual(await call(greet, '{"who":"you"}'), { value: "hello you" });
  const built = buildRegistry({ tools: [greet] }).get("greet");
  t.is(built?.source, greet);
  t.like(built?.descriptor, { summary: "Greets.", scope: null, category: null });
});

test("a generator's yields are not swallowed", async (t) => {
  const steps = tool(
    async function* () {
      yield "one";
      yield "two";
    },
    { name: "steps", description: "d", schema: z.object({}) },
  );
  const called = await call(steps, "{}");
  const seen: unknown[] = [];
  for await (const step of (called as { value: AsyncIterable<unknown> }).value) seen.push(step);
  t.deepEqual(seen, ["one", "two"]);
});

test("the content of an output is the result, without artifact and message", async (t) => {
  const options = { name: "t", description: "d", schema: z.object({}) };
  const pair = tool(() => ["text", { big: 1 }], {
    ...options,
    responseFormat: "content_and_artifact",
  });
  t.deepEqual(await call(pair, "{}"), { value: "text" });
  const message = tool(() => new ToolMessage({ content: "text", tool_call_id: "c" }), options);
  t.deepEqual(await call(message, "{}"), { value: "text" });
  const failed = tool(
    () => new ToolMessage({ content: "no seats", tool_call_id: "c", status: "error" }),
    options,
  );
  await t.throwsAsync(call(failed, "{}"), { name: "ToolException", message: "no seats" });
});

function schemaOf(given: unknown): unknown {
  return buildRegistry({ tools: [given] }).tools[0]?.descriptor.inputSchema;
}
