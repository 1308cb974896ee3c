import { readFileSync } from "node:fs";
import test from "ava";
import type { HistoryMessage, SelectableTool, StageRecord } from "../../src/domain/selection.ts";
import { createSelector } from "../../src/selection/selector.ts";
import { selectionFromCase, type SelectionSpec } from "./lib/selection-from-case.ts";

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: SelectionSpec & {
    readonly tools: readonly (string | { readonly unnamed?: string; readonly name?: string })[];
    readonly role?: string;
    readonly forced_tool_choice?: unknown;
    readonly messages?: readonly CaseMessage[] | null;
    readonly intent?: {
      readonly verdict: { readonly label: string; readonly matched?: readonly string[] } | null;
    };
  };
  readonly expect: {
    readonly tools: readonly string[];
    readonly forced_choice: string | null;
    readonly trace: readonly Record<string, unknown>[];
  };
}

interface CaseMessage {
  readonly role: string;
  readonly content?: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string }[];
}

interface CaseTool extends SelectableTool {
  readonly shown: string;
}

const { cases } = JSON.parse(
  readFileSync(new URL("cases/selection.json", import.meta.url), "utf8"),
) as { readonly cases: readonly Case[] };

test("the selection cases are there", (t) => {
  t.true(cases.length > 0);
});

for (const { id, title, input, expect } of cases) {
  test(`${id}: ${title}`, async (t) => {
    const selection = await createSelector(selectionFromCase(input)).select({
      tools: input.tools.map(toolOf),
      context: {
        state: {
          forcedChoice: input.forced_tool_choice ?? null,
          resolvedTools: null,
          intent: intentOf(input),
          query: "",
          extra: {},
        },
        messages: (input.messages ?? []).map(messageOf),
        role: input.role ?? "action",
      },
    });
    t.deepEqual(
      selection.tools.map((tool) => tool.shown),
      [...expect.tools],
    );
    t.is(selection.forcedChoice, expect.forced_choice);
    t.deepEqual(selection.trace.map(withoutDetail), [...expect.trace]);
  });
}

function withoutDetail(record: StageRecord): Record<string, unknown> {
  const { stage, action, kept, dropped, added, reinstated, forcedChoice } = record;
  return { stage, action, kept, dropped, added, reinstated, forced_choice: forcedChoice };
}

function toolOf(spec: Case["input"]["tools"][number]): CaseTool {
  if (typeof spec === "string") return { name: spec, shown: spec };
  if (spec.unnamed === undefined) return { name: spec.name ?? null, shown: spec.name ?? "" };
  return { name: spec.name ?? null, shown: `<unnamed>:${spec.unnamed}` };
}

function intentOf({ intent }: Case["input"]): { label: string; matchedTools: string[] } | null {
  const verdict = intent?.verdict ?? null;
  return verdict && { label: verdict.label, matchedTools: [...(verdict.matched ?? [])] };
}

function messageOf(message: CaseMessage): HistoryMessage {
  const roles: Record<string, HistoryMessage["role"]> = {
    system: "system",
    human: "user",
    ai: "assistant",
    tool: "tool",
    dict_tool: "tool",
  };
  const role = roles[message.role];
  if (role === undefined) throw new Error(`the role ${message.role} is new; teach this runner`);
  return {
    role,
    name: message.name ?? "",
    toolCallId: message.tool_call_id ?? "",
    toolCalls: message.tool_calls ?? [],
    text: message.content ?? "",
  };
}
