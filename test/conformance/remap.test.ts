import { readFileSync } from "node:fs";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import type { ExecutionContext } from "ava";
import test from "ava";
import { remapToolCallIds } from "../../src/domain/remap-tool-call-ids.ts";

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: { readonly message: CaseMessage; readonly call_ids: readonly string[] };
  readonly expect: {
    readonly same_object?: boolean;
    readonly message?: Record<string, unknown>;
    readonly error?: boolean;
    readonly contains?: readonly string[];
  };
}

interface CaseMessage {
  readonly role: string;
  readonly id?: string;
  readonly content: unknown;
  readonly tool_calls?: readonly object[];
  readonly tool_call_chunks?: readonly object[];
  readonly invalid_tool_calls?: readonly object[];
  readonly additional_kwargs?: Record<string, unknown>;
}

const { cases } = JSON.parse(
  readFileSync(new URL("cases/remap.json", import.meta.url), "utf8"),
) as { readonly cases: readonly Case[] };

test("the remap cases are there", (t) => {
  t.true(cases.length > 0);
});

for (const { id, title, input, expect } of cases) {
  test(`${id}: ${title}, on LangChain's own classes`, (t) => {
    const message = langChainMessage(input.message);
    check(t, message, input, expect);
  });
  test(`${id}: ${title}, on a plain message`, (t) => {
    const { message } = input;
    // A streamed message's calls are LangChain's reading of its chunks.
    const calls = message.tool_calls ?? langChainMessage(message).tool_calls;
    check(t, { ...message, tool_calls: calls?.map(typed) ?? [] }, input, expect);
  });
}

function check(
  t: ExecutionContext,
  message: object,
  { message: { role }, call_ids }: Case["input"],
  expect: Case["expect"],
): void {
  const before = dump(message, role);
  if (expect.error === true) {
    const error = t.throws(() => remapToolCallIds(message, call_ids), { code: "REQUEST_INVALID" });
    for (const part of expect.contains ?? []) t.true(error?.message.includes(part), error?.message);
    t.deepEqual(dump(message, role), before);
    return;
  }
  const remapped = remapToolCallIds(message, call_ids);
  t.is(remapped === message, expect.same_object ?? false);
  t.is(Object.getPrototypeOf(remapped), Object.getPrototypeOf(message));
  t.deepEqual(dump(remapped, role), expect.message);
  t.deepEqual(dump(message, role), before);
}

type Langchain = AIMessage | AIMessageChunk | HumanMessage;

function langChainMessage(message: CaseMessage): Langchain & { tool_calls?: object[] } {
  const fields = structuredClone({
    content: message.content,
    ...(message.id === undefined ? {} : { id: message.id }),
    ...(message.tool_calls && { tool_calls: message.tool_calls.map(typed) }),
    ...(message.tool_call_chunks && { tool_call_chunks: message.tool_call_chunks }),
    ...(message.invalid_tool_calls && { invalid_tool_calls: message.invalid_tool_calls }),
    ...(message.additional_kwargs && { additional_kwargs: message.additional_kwargs }),
  });
  if (message.role === "human") return new HumanMessage(fields as never);
  return message.role === "ai_chunk"
    ? new AIMessageChunk(fields as never)
    : new AIMessage(fields as never);
}

function typed(call: object): object {
  return { type: "tool_call", ...call };
}

/** What the cases show of a message: its empty parts are left out, save the calls. */
function dump(message: object, role: string): Record<string, unknown> {
  const { id, content, tool_calls, tool_call_chunks, invalid_tool_calls, additional_kwargs } =
    message as Record<string, unknown[] | undefined>;
  const shown = {
    role,
    id,
    content,
    tool_calls: tool_calls ?? [],
    tool_call_chunks: tool_call_chunks?.map((chunk) => ({
      type: "tool_call_chunk",
      ...(chunk as object),
    })),
    invalid_tool_calls: invalid_tool_calls?.map((call) => ({
      type: "invalid_tool_call",
      ...(call as object),
    })),
    additional_kwargs,
  };
  const isShown = ([key, value]: [string, unknown]): boolean =>
    key === "tool_calls" || (value !== undefined && !isEmpty(value));
  return structuredClone(Object.fromEntries(Object.entries(shown).filter(isShown)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
