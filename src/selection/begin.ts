import type { HistoryMessage, SelectableTool, SelectionContext } from "../domain/selection.ts";
import type { StageTool } from "./config.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { readNames } from "./names.ts";
import type { Entry, Turn } from "./turn.ts";
import { byName, nameOf } from "./turn.ts";

/** What to select from, and by what. */
export interface SelectionRequest<T extends SelectableTool> {
  /** The whole set, in order. */
  readonly tools: readonly T[];
  /**
   * Choose among these, in this order. Absent or `null`: the whole set. Empty: none. Names that no
   * tool bears are ignored.
   */
  readonly candidates?: readonly string[] | null | undefined;
  /** What the stages may read; its signal ends the wait for a stage that takes its time. */
  readonly context: SelectionContext & { readonly signal?: AbortSignal | undefined };
}

/**
 * Starts a selection: what it was handed, and what an upstream step left of that.
 *
 * @param isShown whether any code of the adopter's will be shown the tools
 * @throws TypeError where a list of names is none
 */
export function begin<T extends SelectableTool>(
  { tools, candidates }: SelectionRequest<T>,
  { state }: SelectionContext,
  isShown: boolean,
): Turn<T> {
  const all = tools.map((tool): Entry<T> => {
    const name = nameOf(tool);
    return { tool, name, view: isShown ? viewOf(tool, name) : { name } };
  });
  const pick = (names: readonly string[], entries: readonly Entry<T>[]): Entry<T>[] => {
    const named = byName(entries);
    return [...new Set(names)].flatMap((name) => named.get(name) ?? []);
  };
  const first =
    candidates === undefined || candidates === null
      ? all
      : pick(readNames(candidates, "candidates"), all);
  const settled = readNames(state.resolvedTools ?? [], "state.resolvedTools");
  // What an upstream step settled on narrows by name, so the nameless stay.
  const set =
    settled.length === 0
      ? first
      : [...pick(settled, first), ...first.filter((entry) => entry.name === null)];
  return { known: new Set(byName(all).keys()), candidates: first, set, force: null };
}

function viewOf(tool: SelectableTool, name: string | null): StageTool {
  // A descriptor of the registry is frozen all the way down and costs no copy.
  if (Object.isFrozen(tool) && tool.name === name) {
    const same: StageTool | undefined = frozenCopy(tool);
    if (same !== undefined) return same;
  }
  return frozenCopy({ ...tool, name });
}

/** A deeply frozen copy of the context, in which no part is missing. */
export function readContext(context: SelectionContext): SelectionContext {
  const state: Partial<SelectionContext["state"]> = context.state ?? {};
  const messages: readonly HistoryMessage[] = context.messages ?? [];
  return frozenCopy({
    state: {
      forcedChoice: state.forcedChoice ?? null,
      resolvedTools: state.resolvedTools ?? null,
      intent: state.intent ?? null,
      query: state.query ?? "",
      extra: state.extra ?? {},
    },
    messages,
    role: context.role ?? "",
  });
}
