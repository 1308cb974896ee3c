import type { IntentVerdict, SelectableTool } from "../domain/selection.ts";
import type { IntentRules } from "./config.ts";
import { listNames } from "./describe-thrown.ts";
import type { IntentPlan } from "./plan.ts";
import { readIntent } from "./plan.ts";
import type { Turn, Verdict } from "./turn.ts";
import { nameOf } from "./turn.ts";

/**
 * Narrows tools by what an intent classifier found. `action` keeps the tools that matched, those
 * without keywords and those always included; `knowledge` keeps the last alone; `ambiguous`, any
 * other label and no verdict keep all. Nameless tools are kept, and so is the order.
 *
 * @returns the tools that stay; a list that becomes empty stays empty
 * @throws ConfigurationError where the rules can't be used
 */
export function narrowToolsForIntent<T extends SelectableTool>(
  tools: readonly T[],
  verdict: IntentVerdict | null,
  rules: IntentRules = {},
): readonly T[] {
  const passes = gate(verdict, readIntent(rules));
  return passes === null ? tools : tools.filter((tool) => passes(nameOf(tool)));
}

/** The stage that does so to a selection. */
export function routeIntent<T>(
  plan: IntentPlan,
  verdict: IntentVerdict | null,
  turn: Turn<T>,
): Verdict<T> {
  if (plan.mode === "off") return { kind: "abstained", detail: "intent routing is off" };
  if (verdict === null) return { kind: "abstained", detail: "there is no intent verdict" };
  const passes = gate(verdict, plan);
  const label = listNames([verdict.label]);
  if (passes === null) {
    return { kind: "abstained", detail: `the label ${label} says nothing about the set` };
  }
  const set = turn.set.filter((entry) => passes(entry.name));
  if (plan.mode === "enforce") return { kind: "decided", set, force: undefined, detail: label };
  const dropped = turn.set.flatMap((entry) => (passes(entry.name) ? [] : [entry.name ?? ""]));
  return {
    kind: "abstained",
    detail: `only observing; ${label} would drop ${listNames(dropped) || "nothing"}`,
  };
}

/** Whether a tool of that name passes; `null` where the verdict makes no statement. */
function gate(
  verdict: IntentVerdict | null,
  plan: IntentPlan,
): ((name: string | null) => boolean) | null {
  const isAlways = (name: string | null): boolean => name === null || plan.alwaysInclude.has(name);
  if (verdict?.label === "knowledge") return isAlways;
  if (verdict?.label !== "action") return null;
  const matched = new Set(verdict.matchedTools);
  return (name) =>
    isAlways(name) || (name !== null && (matched.has(name) || !plan.gated.has(name)));
}
