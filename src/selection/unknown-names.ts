import type { SelectionConfig } from "./config.ts";
import { print } from "./plan.ts";

/**
 * Finds the names in a configuration that no tool bears: misspelt ones as a rule, and never chosen.
 *
 * @param config one that `createSelector` has taken
 * @param isTool whether a tool bears the name
 * @returns one sentence for each place that has any
 */
export function warnOfUnknownNames(
  { palettes, intent }: SelectionConfig,
  isTool: (name: string) => boolean,
): readonly string[] {
  const lists: [place: string, names: readonly string[]][] = [];
  if (typeof palettes === "object" && palettes !== null && !("resolve" in palettes)) {
    for (const [role, names] of Object.entries(palettes)) {
      lists.push([`palettes[${print(role)}]`, names]);
    }
  }
  lists.push(["intent.triggerKeywords", Object.keys(intent?.triggerKeywords ?? {})]);
  lists.push(["intent.alwaysInclude", intent?.alwaysInclude ?? []]);
  return lists.flatMap(([place, names]) => {
    const unknown = names.filter((name) => !isTool(name));
    if (unknown.length === 0) return [];
    return [`${place} names ${unknown.map(print).join(", ")}, which no tool is named`];
  });
}
