import { readFileSync } from "node:fs";
import test from "ava";
import type { HistoryMessage, SelectableTool, StageRecord } from "../../src/domain/selection.ts";
import type { IntentRouting, SelectionConfig } from "../../src/selection/config.ts";
import { createSelector } from "../../src/selection/selector.ts";

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: {
    readonly tools: readonly (string | { readonly unnamed?: string; readonly name?: string })[];
    readonly role?: string;
    readonly forced_tool_choice?: unknown;
    readonly messages?: readonly CaseMessage[] | null;
    readonly force_resolver?: Script;
    readonly palette?: Script;
    readonly intent?: {
      readonly verdict: { readonly label: string; readonly matched?: readonly string[] } | null;
      readonly mode?: NonNullable<IntentRouting["mode"]>;
      readonly trigger_keywords?: Record<string, readonly string[]>;
      readonly always_include?: readonly string[];
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

interface Script {
  readonly kind: string;
  readonly value?: unknown;
  readonly names?: readonly string[];
  readonly error?: string;
  readonly message?: string;
  readonly role_tools?: Record<string, readonly string[]>;
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
    const selection = await createSelector(configOf(input)).select({
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

function configOf({ intent, force_resolver, palette }: Case["input"]): SelectionConfig {
  return {
    ...(intent === undefined
      ? {}
      : {
          intent: {
            mode: intent.mode,
            triggerKeywords: intent.trigger_keywords,
            alwaysInclude: intent.always_include,
          },
        }),
    ...(force_resolver === undefined ? {} : { forcedChoice: resolverOf(force_resolver) as never }),
    ...(palette === undefined
      ? {}
      : { palettes: palette.role_tools ?? (resolverOf(palette) as never) }),
  };
}

function resolverOf(script: Script): unknown {
  const answer = "names" in script ? script.names : script.value;
  switch (script.kind) {
    case "returns":
      return { resolve: () => Promise.resolve(answer) };
    case "sync":
      return () => answer;
    case "raises":
      return {
        resolve() {
          const error = new Error(script.message ?? "");
          error.name = script.error ?? "Error";
          return Promise.reject(error);
        },
      };
    case "no_method":
      return Object.create({}) as unknown;
    default:
      throw new Error(`a resolver of kind ${script.kind} is new; teach this runner`);
  }
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
