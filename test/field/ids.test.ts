import { AIMessage } from "@langchain/core/messages";
import test from "ava";
import { z } from "zod";
import { remapToolCallIds } from "../../src/index.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveField } from "./world.ts";

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Reflect.ownKeys(value)) freeze(Reflect.get(value, key));
  }
  return value;
}

test("B58 chunks of one index stay apart", (t) => {
  const message = freeze({
    tool_call_chunks: [
      { index: 0, id: "p1", name: "add", args: "{}" },
      { index: 0, id: "p2", name: "list", args: "{}" },
    ],
  });
  const { tool_call_chunks } = remapToolCallIds(message, { p1: "k1", p2: "k2" });
  t.deepEqual(tool_call_chunks as unknown, [
    { index: 0, id: "k1", name: "add", args: "{}" },
    { index: 0, id: "k2", name: "list", args: "{}" },
  ]);
});

test("B60 blocks without an id pass through beside those that have one", (t) => {
  const text = { type: "text", text: "hi" };
  const delta = { type: "input_json_delta", index: 1, input: '{"a":1}' };
  const message = freeze({
    content: [text, { type: "tool_use", id: "p1", name: "add", input: "" }, delta],
    tool_calls: [{ id: "p1", name: "add", args: { a: 1 } }],
  });
  const { content, tool_calls } = remapToolCallIds(message, { p1: "k1" });
  t.deepEqual(content as unknown, [
    text,
    { type: "tool_use", id: "k1", name: "add", input: "" },
    delta,
  ]);
  t.deepEqual(tool_calls as unknown, [{ id: "k1", name: "add", args: { a: 1 } }]);
  const plain = freeze({ content: "p1", tool_calls: [{ id: "p1", name: "add", args: {} }] });
  t.deepEqual(remapToolCallIds(plain, { p1: "k1" }) as unknown, {
    content: "p1",
    tool_calls: [{ id: "k1", name: "add", args: {} }],
  });
});

const add = (ran: { times: number }): ReturnType<typeof defineTool> =>
  defineTool({
    name: "add",
    description: "Adds",
    parameters: z.object({ a: z.number() }),
    execute({ a }) {
      ran.times += 1;
      return `${a} by ${ran.times}`;
    },
  });

test("B61 an id that comes again without a run is another call", async (t) => {
  const ran = { times: 0 };
  const { client } = await serveField(t, { tools: [add(ran)] }, { journal: memoryJournal() });
  const call = async (a: number): Promise<string | undefined> =>
    (await client.execute({ name: "add", arguments: { a }, callId: "call_0" }).result).result;
  t.is(await call(1), "1 by 1");
  t.is(await call(2), "2 by 2");
  t.is(await call(2), "2 by 3");
});

test("B61 an id that comes again in its run is the same call or none", async (t) => {
  const ran = { times: 0 };
  const tools = [add(ran), defineTool({ name: "list", description: "d", execute: () => "" })];
  const { client } = await serveField(t, { tools }, { journal: memoryJournal() });
  const call = { name: "add", callId: "call_0", runId: "r1" };
  t.is((await client.execute({ ...call, arguments: { a: 1 } }).result).result, "1 by 1");
  const again = await client.execute({ ...call, argumentsJson: ' {"a": 1.0}' }).result;
  t.is(again.result, "1 by 1");
  t.true(again.replayed);
  const reused = { code: "CALL_ID_REUSED" };
  await t.throwsAsync(client.execute({ ...call, arguments: { a: 2 } }).result, reused);
  await t.throwsAsync(client.execute({ ...call, name: "list" }).result, reused);
  t.is(ran.times, 1);
});

test("B61 remapping one message leaves another with the same id alone", (t) => {
  const first = { tool_calls: [{ id: "call_0", name: "add", args: { a: 1 } }] };
  const second = { tool_calls: [{ id: "call_0", name: "add", args: { a: 2 } }] };
  const mapped = remapToolCallIds(first, { call_0: "k1" });
  t.is(mapped.tool_calls[0]?.id, "k1");
  t.is(first.tool_calls[0]?.id, "call_0");
  t.is(second.tool_calls[0]?.id, "call_0");
});

test("B62 ids are exact texts: no pattern, no prototype, one pass", (t) => {
  const ids = ["tools.Shell:0", "tools.Shell-0", "__proto__", "a b/\u00E9", ""];
  const message = freeze({
    content: [{ type: "text", text: "tools.Shell:0" }],
    tool_calls: ids.map((id) => ({ id, name: "Shell", args: { id: "tools.Shell:0" } })),
  });
  for (const map of [
    { "tools.Shell:0": "k1", "tools.Shell-0": "k2" },
    new Map([
      ["tools.Shell:0", "k1"],
      ["tools.Shell-0", "k2"],
    ]),
  ]) {
    const mapped = remapToolCallIds(message, map);
    const [, , ...others] = ids;
    t.deepEqual(
      mapped.tool_calls.map(({ id }) => id),
      ["k1", "k2", ...others],
    );
    t.true(mapped.tool_calls.every(({ args }) => args.id === "tools.Shell:0"));
    t.is(mapped.content, message.content);
  }
  const swapped = remapToolCallIds({ tool_calls: [{ id: "a" }, { id: "b" }] }, { a: "b", b: "a" });
  t.deepEqual(swapped, { tool_calls: [{ id: "b" }, { id: "a" }] });
});

test("B62 an id of any characters comes back with its call", async (t) => {
  const { client } = await serveField(t, {
    tools: [defineTool({ name: "shell", description: "d", execute: (_args, ctx) => ctx.callId })],
  });
  for (const callId of ["tools.Shell:0", "__proto__", "a b/\u00E9", "失敗 100%"]) {
    const { id, result } = await client.execute({ name: "shell", callId }).result;
    t.is(id, callId);
    t.is(result, callId);
  }
});

test("B63 rewriting ids for one request leaves the history as it was", (t) => {
  const message = freeze({
    role: "assistant",
    content: [
      { type: "tool_use", id: "p1", name: "add", input: {}, cache_control: { type: "ephemeral" } },
      { type: "unknown_block", id: "p1" },
    ],
    tool_calls: [{ id: "p1", name: "add", args: {} }],
    additional_kwargs: { tool_calls: [{ id: "p1" }] },
  });
  const map = { p1: "k1" };
  const once = remapToolCallIds(message, map);
  t.is(message.tool_calls[0]?.id, "p1");
  t.is(once.tool_calls[0]?.id, "k1");
  t.is(once.additional_kwargs, message.additional_kwargs);
  t.is(once.content[1], message.content[1]);
  t.deepEqual(once.content[0], { ...message.content[0], id: "k1" } as never);
  t.is(remapToolCallIds(once, map), once);
  t.is(remapToolCallIds(message, {}), message);
  t.is(remapToolCallIds(message, new Map()), message);

  const instance = new AIMessage({
    content: "",
    tool_calls: [{ id: "p1", name: "add", args: {} }],
    additional_kwargs: { note: "kept" },
  });
  const copy = remapToolCallIds(instance, map);
  t.true(copy instanceof AIMessage);
  t.is(copy.tool_calls?.[0]?.id, "k1");
  t.is(instance.tool_calls?.[0]?.id, "p1");
  t.deepEqual(copy.additional_kwargs, { note: "kept" });
});
