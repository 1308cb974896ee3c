import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { Stage, StageAnswer, StageInput } from "../../src/selection/config.ts";
import { createSelector } from "../../src/selection/selector.ts";
import { context, message, select, tool } from "./helpers.ts";

const three = ["a", "b", "c"];

function answering(answer: unknown): { readonly stages: readonly Stage[] } {
  return { stages: [{ name: "mine", select: () => answer as StageAnswer }] };
}

test("stages come last, in their order, each reading what stands", async (t) => {
  const seen: unknown[] = [];
  const stage = (name: string, answer: StageAnswer): Stage => ({
    name,
    select(input) {
      seen.push([name, input.tools.map((each) => each.name), input.forcedChoice]);
      return answer;
    },
  });
  const stages = [
    stage("first", ["c", "a"]),
    stage("second", { forcedChoice: "a" }),
    stage("third", null),
  ];
  const selection = await select({ intent: {}, stages }, three);
  t.deepEqual(seen, [
    ["first", ["a", "b", "c"], null],
    ["second", ["c", "a"], null],
    ["third", ["c", "a"], "a"],
  ]);
  t.deepEqual(selection.actions, [
    "intent_routing:abstained",
    "forced_choice:abstained",
    "role_palette:abstained",
    "first:narrowed",
    "second:forced",
    "third:abstained",
  ]);
  t.is(selection.force, "a");
});

test("a stage may bring back candidates that were dropped, but nothing else", async (t) => {
  const config = { palettes: () => ["a"], ...answering(["b", "a", "c", "ghost"]) };
  const { tools, trace } = await createSelector(config).select({
    tools: three.map(tool),
    candidates: ["a", "b"],
    context: context(),
  });
  t.deepEqual(tools, [{ name: "b" }, { name: "a" }]);
  t.like(trace[2], { action: "extended", kept: ["a"], added: ["b"], dropped: [] });
  t.regex(trace[2]?.detail ?? "", /"ghost".*"c"/u);
});

test("a stage may force, and lift what stands", async (t) => {
  const forced = await select(answering({ tools: ["a"], forcedChoice: "c", detail: "why" }), three);
  t.deepEqual(forced.tools, ["a", "c"]);
  t.is(forced.force, "c");
  t.is(forced.actions[2], "mine:forced");
  t.is(forced.details[2], "why");
  for (const none of [null, ""]) {
    const lifted = await select(answering({ tools: ["a"], forcedChoice: none }), three, {
      forcedChoice: "c",
    });
    t.is(lifted.force, null);
    t.is(lifted.actions[2], "mine:released");
    t.deepEqual(lifted.tools, ["a"]);
  }
  const messages = [message({ role: "tool", name: "c" })];
  t.is((await select(answering({ forcedChoice: "c" }), three, { messages })).force, null);
});

test("an answer that is wrong in any part changes nothing", async (t) => {
  const throwing = {
    get tools(): never {
      throw new Error("surprise");
    },
  };
  const wrong = [
    7,
    "a",
    true,
    ["a", null],
    { tools: "a" },
    { tools: ["a"], forcedChoice: "ghost" },
    { tools: ["a"], forcedChoice: 1 },
    { tools: [], forcedChoice: "any" },
    { tools: ["ghost"], forcedChoice: "a" },
    { tools: ["a"], detail: 3 },
    { tool: ["a"] },
    throwing,
    new Proxy([], { get: () => ({}) }),
    () => ["a"],
  ];
  for (const answer of wrong) {
    const selection = await select(answering(answer), three, { forcedChoice: "b" });
    t.deepEqual(selection.tools, three);
    t.is(selection.force, "b");
    t.is(selection.actions[2], "mine:degraded");
    t.not(selection.details[2], "");
  }
});

test("whatever a stage throws, it is degraded and says so", async (t) => {
  const evil = new Error("x");
  Object.defineProperty(evil, "message", {
    get() {
      throw new Error("twice");
    },
  });
  const unreadable: object = new Proxy(
    {},
    { get: () => unreadable, getPrototypeOf: () => unreadable },
  );
  for (const thrown of [
    new Error("db down"),
    "text",
    null,
    undefined,
    5n,
    Symbol("s"),
    {},
    evil,
    unreadable,
  ]) {
    for (const how of ["throws", "rejects"]) {
      const stage = {
        name: "mine",
        select() {
          if (how === "rejects") return Promise.reject<null>(thrown);
          throw thrown;
        },
      };
      const selection = await select({ stages: [stage] }, three);
      t.deepEqual(selection.tools, three);
      t.is(selection.actions[2], "mine:degraded");
      t.not(selection.details[2], "");
    }
  }
  const { details } = await select({ palettes: () => Promise.reject(new Error("db down")) }, three);
  t.is(details[1], "Error: db down");
});

test("a resolver or stage that never settles is degraded after its time, and told so", async (t) => {
  const signals: AbortSignal[] = [];
  const never = ({ signal }: StageInput): Promise<never> => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const stages = [
    { name: "stuck", select: never },
    // oxlint-disable-next-line no-thenable -- the point
    { name: "thenable", select: () => Object.fromEntries([["then", () => {}]]) as never },
    { name: "mine", select: () => ["b"] },
  ];
  const config = { forcedChoice: never, palettes: { resolve: never }, stages, stageTimeoutMs: 5 };
  const selection = await select(config, three);
  t.deepEqual(selection.actions, [
    "forced_choice:degraded",
    "role_palette:degraded",
    "stuck:degraded",
    "thenable:degraded",
    "mine:narrowed",
  ]);
  t.deepEqual(
    signals.map((signal) => signal.aborted),
    [true, true, true],
  );
  t.deepEqual(selection.tools, ["b"]);
});

test("a rejection that comes too late is nobody's problem", async (t) => {
  let reject: ((error: Error) => void) | undefined;
  const palettes = (): Promise<never> =>
    new Promise((_, no) => {
      reject = no;
    });
  const selection = await select({ palettes, stageTimeoutMs: 1 }, three);
  reject?.(new Error("late"));
  // AVA fails the run on an unhandled rejection, which is reported before the next timer.
  await sleep(1);
  t.is(selection.actions[1], "role_palette:degraded");
});

test("the context's signal ends the wait, and no listener is left on it", async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const selector = createSelector({
    palettes: () => ["a"],
    stages: [{ name: "mine", select: () => null }],
  });
  const request = { tools: three.map(tool), context: { ...context(), signal } };
  await selector.select(request);
  t.is(getEventListeners(signal, "abort").length, 0);

  let asked = 0;
  const stuck = createSelector({
    palettes() {
      asked += 1;
      controller.abort();
      return new Promise(() => {});
    },
    stages: [{ name: "mine", select: () => ((asked += 1), null) }],
  });
  const { tools, trace } = await stuck.select(request);
  t.deepEqual(tools, request.tools);
  t.deepEqual(
    trace.map(({ action }) => action),
    ["abstained", "degraded", "degraded"],
  );
  t.is(asked, 1);
  t.is(getEventListeners(signal, "abort").length, 0);
});

test("what a stage is given is a deeply frozen copy of all there is to read", async (t) => {
  const request = {
    tools: [
      { name: "a", description: "d", inputSchema: { type: "object" }, execute() {} },
      { name: null },
    ],
    context: context({
      extra: { deep: [{ n: 1 }] },
      resolvedTools: ["a"],
      messages: [message({ role: "assistant", toolCalls: [{ id: "1", name: "a" }] })],
      role: "reader",
    }),
  };
  let seen: StageInput | undefined;
  const stage: Stage = {
    name: "mine",
    select(input) {
      seen = input;
      (input.state.extra["deep"] as unknown[]).push("changed");
      return [];
    },
  };
  const selection = await createSelector({ stages: [stage] }).select(request);
  t.is(selection.trace[2]?.action, "degraded");
  t.is(selection.tools[0], request.tools[0]);
  t.deepEqual(seen?.state, request.context.state);
  t.deepEqual(seen?.messages, request.context.messages);
  t.is(seen?.role, "reader");
  const views = [{ name: "a", description: "d", inputSchema: { type: "object" } }, { name: null }];
  t.deepEqual(seen?.tools, views as never);
  t.deepEqual(seen?.candidates, views as never);
  for (const part of [
    seen,
    seen?.tools,
    seen?.tools[0]?.inputSchema,
    seen?.messages[0]?.toolCalls[0],
  ]) {
    t.true(Object.isFrozen(part));
  }
});

test("what the caller changes during a wait does not reach the selection", async (t) => {
  const tools = three.map((name) => ({ name }));
  const messages = [message({ role: "user" })];
  const state = { ...context().state, forcedChoice: "b", resolvedTools: ["a", "b"] };
  const palettes = async ({ state: { resolvedTools } }: StageInput): Promise<readonly string[]> => {
    await sleep(1);
    return resolvedTools ?? [];
  };
  const selected = createSelector({ palettes }).select({
    tools,
    context: { state, messages, role: "" },
  });
  tools.length = 1;
  state.forcedChoice = "c";
  state.resolvedTools.push("c");
  messages.push(message({ role: "tool", name: "b" }));
  const selection = await selected;
  t.deepEqual(
    selection.tools.map(({ name }) => name),
    ["a", "b"],
  );
  t.is(selection.forcedChoice, "b");
});

test("a descriptor that is frozen all the way down is shown as it is, without a copy", async (t) => {
  const inputSchema = Object.freeze({ type: "object", required: Object.freeze(["x"]) });
  const frozen = Object.freeze({ name: "a", inputSchema });
  const shallow = Object.freeze({ name: "b", inputSchema: { type: "object" } });
  let seen: StageInput["tools"] = [];
  const stage: Stage = { name: "mine", select: (input) => void (seen = input.tools) };
  const selector = createSelector({ stages: [stage] });
  await selector.select({ tools: [frozen, shallow], context: context() });
  t.is(seen[0], frozen as never);
  t.not(seen[1], shallow as never);
  t.deepEqual(seen[1], shallow as never);
});

test("an instance's method is found when it is asked for, with its own this", async (t) => {
  class Palettes {
    readonly #names = ["c"];
    resolve(): readonly string[] {
      return this.#names;
    }
  }
  t.deepEqual((await select({ palettes: new Palettes() }, three)).tools, ["c"]);
  const { actions } = await select({ forcedChoice: Object.create({}) as never }, three);
  t.is(actions[0], "forced_choice:degraded");
});

test("a request that breaks its own types is degraded throughout, never rejected", async (t) => {
  const selector = createSelector({ intent: {}, stages: [{ name: "mine", select: () => [] }] });
  const throwing = {
    get state(): never {
      throw new Error("no state");
    },
  };
  const requests = [
    { tools: [tool("a")], context: throwing },
    { tools: [tool("a")], context: null },
    { tools: [tool("a")], context: context(), candidates: "a" },
    { tools: [tool("a"), null], context: context() },
  ];
  for (const request of requests) {
    const { tools, trace, forcedChoice } = await selector.select(request as never);
    t.deepEqual(tools, request.tools as never);
    t.is(forcedChoice, null);
    t.deepEqual(
      trace.map(({ action }) => action),
      ["degraded", "degraded", "degraded", "degraded"],
    );
  }
  t.deepEqual((await selector.select(null as never)).tools, []);
  const bare = await selector.select({ tools: [tool("a")], context: {} as never });
  t.deepEqual(
    bare.trace.map(({ action }) => action),
    ["abstained", "abstained", "abstained", "emptied"],
  );
});
