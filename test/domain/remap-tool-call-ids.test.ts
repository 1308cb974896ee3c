import {
  AIMessage,
  AIMessageChunk,
  ToolMessage,
  isAIMessageChunk,
  mapChatMessagesToStoredMessages,
} from "@langchain/core/messages";
import test from "ava";
import fc from "fast-check";
import { remapToolCallIds } from "../../src/domain/remap-tool-call-ids.ts";

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Reflect.ownKeys(value)) freeze(Reflect.get(value, key));
  }
  return value;
}

const openAi = freeze({
  role: "assistant",
  content: null,
  tool_calls: [
    { id: "p1", type: "function", function: { name: "add", arguments: '{"id":"p1"}' } },
    { id: "p2", type: "function", function: { name: "list", arguments: "{}" } },
  ],
});

const anthropic = freeze({
  role: "assistant",
  content: [
    { type: "text", text: "p1", cache_control: { type: "ephemeral" } },
    { type: "tool_use", id: "p1", name: "add", input: { id: "p1" } },
    { type: "server_tool_use", id: "p2" },
    { type: "tool_use", id: "p2", name: "list", input: {} },
  ],
});

test("a message in OpenAI's shape gets its ids in place", (t) => {
  const remapped = remapToolCallIds(openAi, ["k1", "k2"]);
  t.deepEqual(remapped, {
    ...openAi,
    tool_calls: [
      { ...openAi.tool_calls[0], id: "k1" },
      { ...openAi.tool_calls[1], id: "k2" },
    ],
  } as never);
  t.is(remapped.tool_calls[0]?.function, openAi.tool_calls[0]?.function);
});

test("a message in Anthropic's shape gets its ids in tool_use blocks alone", (t) => {
  for (const ids of [["k1", "k2"], { p1: "k1", p2: "k2" }]) {
    const { content } = remapToolCallIds(anthropic, ids);
    t.deepEqual(
      content.map((block) => block.id),
      [undefined, "k1", "p2", "k2"],
    );
    t.is(content[0], anthropic.content[0]);
    t.is(content[2], anthropic.content[2]);
  }
  const error = { code: "REQUEST_INVALID", message: /2 tool calls.*1 id / };
  t.throws(() => remapToolCallIds(anthropic, ["k1"]), error);
  t.is(remapToolCallIds(anthropic, ["p1", "p2"]), anthropic);
});

test("chunks of one index stay apart", (t) => {
  const plain = freeze({
    tool_call_chunks: [
      { index: 0, id: "p1", name: "add", args: "{}" },
      { index: 0, id: "p2", name: "list", args: "{}" },
    ],
  });
  const [one, two] = plain.tool_call_chunks;
  for (const ids of [
    ["k1", "k2"],
    { p1: "k1", p2: "k2" },
    new Map([
      ["p1", "k1"],
      ["p2", "k2"],
    ]),
  ]) {
    t.deepEqual(remapToolCallIds(plain, ids), {
      tool_call_chunks: [
        { ...one, id: "k1" },
        { ...two, id: "k2" },
      ],
    } as never);
    const message = new AIMessageChunk({
      content: "",
      tool_call_chunks: plain.tool_call_chunks.map((chunk) => ({ ...chunk })),
    });
    if (Array.isArray(ids)) continue;
    const remapped = remapToolCallIds(message, ids);
    t.deepEqual(
      remapped.tool_call_chunks?.map(({ id, name }) => [id, name]),
      [
        ["k1", "add"],
        ["k2", "list"],
      ],
    );
    t.deepEqual(
      message.tool_call_chunks?.map(({ id }) => id),
      ["p1", "p2"],
    );
  }
});

test("blocks that carry no id pass through beside those that do", (t) => {
  const content = [
    { type: "text", text: "hi" },
    { type: "tool_use", id: "p1", name: "add", input: "" },
    { type: "input_json_delta", index: 1, input: '{"a":1}' },
    "a bare string",
    null,
  ];
  const message = new AIMessage({
    content: content as never,
    tool_calls: [{ id: "p1", name: "add", args: { a: 1 } }],
  });
  for (const ids of [["k1"], { p1: "k1" }]) {
    const remapped = remapToolCallIds(message, ids);
    const blocks = remapped.content as unknown[];
    t.deepEqual(blocks[1], { type: "tool_use", id: "k1", name: "add", input: "" });
    for (const i of [0, 2, 3, 4]) t.is(blocks[i], content[i]);
    t.is(remapped.tool_calls?.[0]?.id, "k1");
  }
  const text = new AIMessage({ content: "p1", tool_calls: [{ id: "p1", name: "add", args: {} }] });
  t.is(remapToolCallIds(text, { p1: "k1" }).content, "p1");
});

test("fewer blocks than calls are fine, more are an error naming both counts", (t) => {
  const calls = [{ id: "a" }, { id: "b" }];
  const block = (id: string) => ({ type: "tool_use", id });
  const fewer = remapToolCallIds({ tool_calls: calls, content: [block("a")] }, ["k1", "k2"]);
  t.deepEqual(fewer, { tool_calls: [{ id: "k1" }, { id: "k2" }], content: [block("k1")] });
  const more = { tool_calls: calls, content: [block("a"), block("b"), block("c")] };
  t.throws(() => remapToolCallIds(more, ["k1", "k2"]), { message: /3 tool_use blocks.*2 ids/u });
  t.is(remapToolCallIds(more, ["a", "b"]), more);
});

test("ids are exact strings: odd ones neither meet nor reach a prototype", (t) => {
  const odd = [
    "tools.Shell:0",
    "tools.Shell-0",
    "__proto__",
    "a b/é",
    "",
    "constructor",
    "toString",
  ];
  const message = freeze({ tool_calls: odd.map((id) => ({ id })) });
  const idsOf = ({ tool_calls }: typeof message): string[] => tool_calls.map(({ id }) => id);
  const renamed = ["k1", "k2", ...odd.slice(2)];
  t.deepEqual(
    idsOf(remapToolCallIds(message, { "tools.Shell:0": "k1", "tools.Shell-0": "k2" })),
    renamed,
  );
  t.deepEqual(
    idsOf(
      remapToolCallIds(
        message,
        new Map([
          ["tools.Shell:0", "k1"],
          ["tools.Shell-0", "k2"],
        ]),
      ),
    ),
    renamed,
  );
  const own = JSON.parse('{"__proto__": "k3", "": "k5", "get": "x", "has": "y"}') as Record<
    string,
    string
  >;
  t.deepEqual(idsOf(remapToolCallIds(message, own)), odd.with(2, "k3").with(4, "k5"));
  t.is(remapToolCallIds(message, {}), message);
  t.is(remapToolCallIds(message, new Map()), message);
});

test("two ids are swapped in one pass", (t) => {
  const message = { tool_calls: [{ id: "a" }, { id: "b" }, { id: "c" }, { id: null }] };
  const swapped = remapToolCallIds(message, { a: "b", b: "a" });
  t.deepEqual(
    swapped.tool_calls.map(({ id }) => id),
    ["b", "a", "c", null],
  );
  t.is(swapped.tool_calls[2], message.tool_calls[2]);
});

test("a new id that is no string is refused by name", (t) => {
  const message = { tool_calls: [{ id: "a" }] };
  t.throws(() => remapToolCallIds(message, [7] as never), { message: /position 0/u });
  t.throws(() => remapToolCallIds(message, { a: null } as never), { message: /"a"/u });
  t.throws(() => remapToolCallIds(message, new Map([["a", 7]]) as never), { message: /"a"/u });
});

test("LangChain's messages keep their class, and what they serialize follows", (t) => {
  const message = new AIMessage({
    id: "msg",
    content: [{ type: "tool_use", id: "p1", name: "add", input: {} }],
    tool_calls: [{ id: "p1", name: "add", args: {} }],
    additional_kwargs: { tool_calls: [] as never },
    response_metadata: { model: "m" },
  });
  const before = JSON.stringify(message);
  const remapped = remapToolCallIds(freeze(message), ["k1"]);
  t.true(remapped instanceof AIMessage);
  t.is(remapped.getType(), "ai");
  t.is(remapped.id, "msg");
  t.is(remapped.additional_kwargs, message.additional_kwargs);
  t.is(JSON.stringify(remapped), before.replaceAll('"p1"', '"k1"'));
  t.is(JSON.stringify(message), before);
  const [stored] = mapChatMessagesToStoredMessages([remapped]);
  t.false(JSON.stringify(stored).includes("p1"));
  // The copy is as free to change as any message.
  remapped.content = "changed";
  t.is(JSON.stringify(message), before);
});

test("a streamed message keeps its class, its lazy parts and its way to be joined", (t) => {
  const chunk = (fields: object, index = 0): AIMessageChunk =>
    new AIMessageChunk({
      content: "",
      tool_call_chunks: [{ index, type: "tool_call_chunk", ...fields }],
    });
  const streamed = chunk({ id: "p1", name: "add", args: '{"a"' })
    .concat(chunk({ args: ":1}" }))
    .concat(chunk({ id: "p2", name: "list", args: "{" }, 1));
  const remapped = remapToolCallIds(
    streamed,
    new Map([
      ["p1", "k1"],
      ["p2", "k2"],
    ]),
  );
  t.true(isAIMessageChunk(remapped));
  t.deepEqual(
    remapped.tool_call_chunks?.map(({ id }) => id),
    ["k1", "k2"],
  );
  // The second chunk is read leniently or not at all; either way the calls follow the chunks.
  for (const [i, call] of (remapped.tool_calls ?? []).entries()) t.is(call.id, ["k1", "k2"][i]);
  t.deepEqual(
    streamed.tool_call_chunks?.map(({ id }) => id),
    ["p1", "p2"],
  );
  t.is(streamed.tool_calls?.[0]?.id, "p1");
  t.false(JSON.stringify(remapped).includes('"p1"'));
  const joined = remapped.concat(chunk({ args: "}" }, 1));
  t.deepEqual(
    joined.tool_calls?.map(({ id, name, args }) => [id, name, args]),
    [
      ["k1", "add", { a: 1 }],
      ["k2", "list", {}],
    ],
  );
  // Writing to the copy leaves the original alone, though LangChain's own accessors would not.
  remapped.invalid_tool_calls = [{ id: "x" }];
  t.notDeepEqual(streamed.invalid_tool_calls, remapped.invalid_tool_calls);
});

test("a message that makes no calls is its own remap", (t) => {
  const answer = new ToolMessage({ content: "r", tool_call_id: "p1" });
  t.is(remapToolCallIds(answer, { p1: "k1" }), answer);
  t.is(remapToolCallIds(answer, []), answer);
  t.throws(() => remapToolCallIds(answer, ["k1"]), { message: /0 tool calls.*1 id / });
});

test("one turn's remap leaves another turn with the same ids alone", (t) => {
  const history = [0, 1].map(() => ({ tool_calls: [{ id: "call_0" }] }));
  const [first, second] = history as [
    { tool_calls: { id: string }[] },
    { tool_calls: { id: string }[] },
  ];
  t.deepEqual(remapToolCallIds(first, { call_0: "run:0" }).tool_calls, [{ id: "run:0" }]);
  t.deepEqual(second.tool_calls, [{ id: "call_0" }]);
});

test("remapping there and back gives the message again, by position and by id", (t) => {
  const unit = fc.constantFrom("a", "-", "é", "_");
  const ids = fc.uniqueArray(fc.oneof(fc.string({ unit }), fc.constantFrom("__proto__", "get")), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(
      ids,
      ids,
      fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      (old, fresh, blocks) => {
        const count = Math.min(old.length, fresh.length);
        const [from, to] = [old.slice(0, count), fresh.slice(0, count)];
        const message = freeze({
          extra: { deep: [1] },
          content: [{ type: "text" }, ...from.map((id) => ({ type: "tool_use", id }))].filter(
            (block, i) => block.type === "text" || blocks.slice(0, i).every(Boolean),
          ),
          tool_calls: from.map((id) => ({ id, args: { id } })),
          tool_call_chunks: from.map((id) => ({ id, index: 0 })),
        });
        const there = remapToolCallIds(message, to);
        t.deepEqual(
          there.tool_calls.map(({ id }) => id),
          to,
        );
        t.deepEqual(remapToolCallIds(there, from), message);
        const mapOf = (keys: string[], values: string[]): Map<string, string> =>
          new Map(keys.map((key, i) => [key, values[i] ?? ""]));
        t.deepEqual(remapToolCallIds(message, mapOf(from, to)), there);
        t.deepEqual(remapToolCallIds(there, mapOf(to, from)), message);
      },
    ),
  );
});
