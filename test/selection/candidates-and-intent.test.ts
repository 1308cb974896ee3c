import test from "ava";
import { narrowToolsForIntent } from "../../src/selection/intent-routing.ts";
import { select, tool } from "./helpers.ts";

const three = ["a", "b", "c"];

test("candidates choose and order; strangers and repetitions are ignored", async (t) => {
  t.deepEqual((await select({}, three, {}, ["c", "ghost", "a", "c"])).tools, ["c", "a"]);
  const none = await select({}, [...three, null], {}, []);
  t.deepEqual(none.tools, []);
  t.false(none.decided);
});

test("what an upstream step settled on narrows the candidates; an empty list is no statement", async (t) => {
  const settled = async (resolvedTools: string[] | null, candidates?: string[]) =>
    (await select({}, [...three, null], { resolvedTools }, candidates)).tools;
  t.deepEqual(await settled(["c", "a", "ghost"]), ["c", "a", null]);
  t.deepEqual(await settled([]), [...three, null]);
  t.deepEqual(await settled(null), [...three, null]);
  t.deepEqual(await settled(["c", "a"], ["a", "b"]), ["a"]);
  t.deepEqual(await settled(["ghost"]), [null]);
});

test("only the labels action and knowledge narrow", (t) => {
  const tools = ["hydrate_context", "keyed", "matched", "free", null].map(tool);
  const rules = { triggerKeywords: { keyed: ["x"], matched: ["y"], free: [] } };
  const narrow = (label: string): (string | null)[] =>
    narrowToolsForIntent(tools, { label, matchedTools: ["matched"] }, rules).map(
      ({ name }) => name,
    );
  t.deepEqual(narrow("action"), ["hydrate_context", "matched", "free", null]);
  t.deepEqual(narrow("knowledge"), ["hydrate_context", null]);
  for (const label of ["ambiguous", "banter", "", "Action", "constructor"]) {
    t.deepEqual(
      narrow(label),
      tools.map(({ name }) => name),
      label,
    );
  }
  t.is(narrowToolsForIntent(tools, null, rules), tools);
  t.deepEqual(narrowToolsForIntent([], { label: "knowledge", matchedTools: [] }), []);
});

test("keywords of names that every object has are read from the table alone", (t) => {
  const tools = ["constructor", "toString", "__proto__"].map(tool);
  const verdict = { label: "action", matchedTools: [] };
  t.deepEqual(narrowToolsForIntent(tools, verdict, { triggerKeywords: {} }), tools);
  const triggerKeywords = JSON.parse('{"__proto__": ["p"]}') as Record<string, string[]>;
  t.deepEqual(narrowToolsForIntent(tools, verdict, { triggerKeywords }), tools.slice(0, 2));
});

test("intent routing that is off or only observes changes nothing, and says why", async (t) => {
  const parts = { intent: { label: "knowledge", matchedTools: [] } };
  for (const mode of ["off", "observe"] as const) {
    const selection = await select({ intent: { mode } }, three, parts);
    t.deepEqual(selection.tools, three);
    t.is(selection.actions[0], "intent_routing:abstained");
    t.false(selection.decided);
  }
  const { details } = await select({ intent: { mode: "observe" } }, three, parts);
  t.regex(details[0] ?? "", /"a", "b", "c"/u);
  const enforced = await select({ intent: { alwaysInclude: three } }, three, parts);
  t.is(enforced.actions[0], "intent_routing:unchanged");
  t.true(enforced.decided);
});
