import test from "ava";
import { createSelector } from "../../src/selection/selector.ts";
import { context, message, select, tool } from "./helpers.ts";

const three = ["a", "b", "c"];
const user = message({ role: "user", text: "hi" });

test("a choice that no candidate can satisfy is never given", async (t) => {
  const cases: [string, Parameters<typeof select>][] = [
    ["unregistered", [{}, three, { forcedChoice: "delete_all" }]],
    ["another case", [{}, three, { forcedChoice: "A" }]],
    ["padded", [{}, three, { forcedChoice: " a" }]],
    ["not a candidate", [{}, three, { forcedChoice: "c" }, ["a", "b"]]],
    ["on every object's prototype", [{}, three, { forcedChoice: "constructor" }]],
    ["any of no tools", [{}, [], { forcedChoice: "any" }]],
    ["none of no tools", [{}, three, { forcedChoice: "none" }, []]],
    ["no string", [{}, three, { forcedChoice: { name: "a" } }]],
    ["a number", [{}, three, { forcedChoice: 0 }]],
    ["a resolver's", [{ forcedChoice: () => "ghost" }, three]],
    ["a resolver's, no string", [{ forcedChoice: (() => 7) as never }, three]],
  ];
  for (const [title, input] of cases) {
    const { force, actions } = await select(...input);
    t.is(force, null, title);
    t.is(actions[0], "forced_choice:degraded", title);
  }
});

test("a forced tool survives every stage, and comes back last", async (t) => {
  const stages = [{ name: "mine", select: () => ["b"] }];
  const selection = await select({ palettes: () => ["c", "b"], stages }, three, {
    forcedChoice: "a",
  });
  t.deepEqual(selection.tools, ["b", "a"]);
  t.is(selection.force, "a");
  t.deepEqual(selection.actions, [
    "forced_choice:forced",
    "role_palette:narrowed",
    "mine:narrowed",
  ]);
});

test("a stage that drops everything is recorded so, and the forced tool comes back", async (t) => {
  const { trace, tools } = await createSelector({ palettes: () => [] }).select({
    tools: three.map(tool),
    context: context({ forcedChoice: "b" }),
  });
  t.deepEqual(tools, [{ name: "b" }]);
  t.like(trace[1], { action: "emptied", kept: [], dropped: ["a", "c"], reinstated: ["b"] });
});

test("a force reaches back over what an upstream step settled on", async (t) => {
  const selection = await select({}, three, { forcedChoice: "c", resolvedTools: ["b"] });
  t.deepEqual(selection.tools, ["b", "c"]);
  t.is(selection.force, "c");
});

test("a reserved word is lifted when a stage leaves no tool to choose", async (t) => {
  const user_ = { forcedChoice: "required", messages: [user] };
  const selection = await select({ palettes: () => [] }, three, user_);
  t.deepEqual(selection.tools, []);
  t.is(selection.force, null);
  t.regex(selection.details[1] ?? "", /"required" is lifted/u);
  const none = await select({ palettes: () => ["a"] }, three, user_);
  t.is(none.force, "required");
  t.deepEqual(none.tools, ["a"]);
});

test("a tool named like a reserved word is a tool", async (t) => {
  const selection = await select({ palettes: () => ["a"] }, ["a", "any"], { forcedChoice: "any" });
  t.deepEqual(selection.tools, ["a", "any"]);
  t.is(selection.force, "any");
});

test("any and required are met once a tool has answered since the user spoke", async (t) => {
  const answered = [user, message({ role: "assistant" }), message({ role: "tool", name: "a" })];
  for (const forcedChoice of ["any", "required"]) {
    t.is((await select({}, three, { forcedChoice, messages: answered })).force, null);
    t.is(
      (await select({}, three, { forcedChoice, messages: [...answered, user] })).force,
      forcedChoice,
    );
  }
  for (const forcedChoice of ["auto", "none"]) {
    t.is((await select({}, three, { forcedChoice, messages: answered })).force, forcedChoice);
  }
});

test("a tool message without a name is named by the call that it answers", async (t) => {
  const calls = (name: string) =>
    message({ role: "assistant", toolCalls: [{ id: "call_0", name }] });
  const answer = message({ role: "tool", toolCallId: "call_0" });
  const force = async (...messages: ReturnType<typeof message>[]): Promise<string | null> =>
    (await select({}, three, { forcedChoice: "b", messages })).force;
  t.is(await force(calls("b"), answer), null);
  t.is(await force(calls("a"), answer), "b");
  t.is(await force(answer, calls("b")), "b");
  // The same id used again in a later turn: each answer belongs to the latest call before it.
  t.is(await force(calls("b"), calls("a"), answer), "b");
  t.is(await force(calls("b"), answer, calls("a"), answer), null);
});

test("the stamp wins, and an empty one keeps the resolver from being asked", async (t) => {
  let asked = 0;
  const forcedChoice = (): string => {
    asked += 1;
    return "c";
  };
  t.is((await select({ forcedChoice }, three, { forcedChoice: "a" })).force, "a");
  t.is((await select({ forcedChoice }, three, { forcedChoice: "" })).force, null);
  t.is(asked, 0);
  t.is((await select({ forcedChoice }, three)).force, "c");
});

test("a force of one selection never reaches another", async (t) => {
  const selector = createSelector({ palettes: () => Promise.resolve(["a"]) });
  const tools = three.map(tool);
  const choose = async (forcedChoice: string | null) =>
    (await selector.select({ tools, context: context({ forcedChoice }) })).forcedChoice;
  t.deepEqual(await Promise.all([choose("a"), choose("b"), choose(null), choose("c")]), [
    "a",
    "b",
    null,
    "c",
  ]);
  t.is(await choose(null), null);
});
