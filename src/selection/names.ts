import { listNames } from "./describe-thrown.ts";
import type { Entry, Turn } from "./turn.ts";
import { byName, joinDetails } from "./turn.ts";

/** What a list of names comes to. */
export type Choice<T> =
  | { readonly ok: true; readonly set: readonly Entry<T>[]; readonly detail: string }
  | { readonly ok: false; readonly detail: string };

/** Longer lists are no selection but a mistake. */
const mostNames = 100_000;

/**
 * Copies a list of names out of whatever was answered.
 *
 * @param what the list, for the error text
 * @throws TypeError where it is no list of strings
 */
export function readNames(list: unknown, what: string): readonly string[] {
  if (!Array.isArray(list)) throw new TypeError(`${what} is no list of names`);
  const { length } = list as { readonly length: unknown };
  if (typeof length !== "number") throw new TypeError(`${what} is no list of names`);
  if (length > mostNames) throw new TypeError(`${what} lists more than ${mostNames} names`);
  const names: string[] = [];
  for (let i = 0; i < length; i++) {
    const name: unknown = list[i];
    if (typeof name !== "string") throw new TypeError(`item ${i} of ${what} is no string`);
    names.push(name);
  }
  return names;
}

/**
 * Chooses tools by a list of names: the named ones in the list's order, each once, then the
 * nameless ones that stand so far, since no name can drop them. Names of tools that are not among
 * `pool` are left out and mentioned; a list of nothing but names that no tool of the whole set
 * bears is a mistake, unlike an empty one.
 */
export function choose<T>(
  names: readonly string[],
  turn: Turn<T>,
  pool: readonly Entry<T>[],
): Choice<T> {
  const mistake = nameMistake(names, turn);
  if (mistake !== null) return { ok: false, detail: mistake };
  // What stands comes first, so that of two tools of one name it is the standing one.
  const available = byName([...turn.set, ...pool]);
  const chosen = new Set<Entry<T>>();
  for (const name of names) {
    const entry = available.get(name);
    if (entry !== undefined) chosen.add(entry);
  }
  for (const entry of turn.set) if (entry.name === null) chosen.add(entry);
  return { ok: true, set: [...chosen], detail: ignoredNames(names, turn, available) };
}

/** Keeps of the standing set what a list names, in the set's own order; as {@link choose}. */
export function filter<T>(names: readonly string[], turn: Turn<T>): Choice<T> {
  const mistake = nameMistake(names, turn);
  if (mistake !== null) return { ok: false, detail: mistake };
  const allowed = new Set(names);
  return {
    ok: true,
    set: turn.set.filter((entry) => entry.name === null || allowed.has(entry.name)),
    detail: ignoredNames(names, turn, byName(turn.set)),
  };
}

function nameMistake(names: readonly string[], turn: Turn<unknown>): string | null {
  if (names.length === 0 || names.some((name) => turn.known.has(name))) return null;
  return `no tool is named ${listNames(new Set(names))}`;
}

function ignoredNames(
  names: readonly string[],
  turn: Turn<unknown>,
  available: ReadonlyMap<string, unknown>,
): string {
  const unknown = new Set(names.filter((name) => !turn.known.has(name)));
  const absent = new Set(names.filter((name) => turn.known.has(name) && !available.has(name)));
  return joinDetails(
    unknown.size > 0 ? `ignored, for no tool is named so: ${listNames(unknown)}` : "",
    absent.size > 0 ? `ignored, for they are not offered here: ${listNames(absent)}` : "",
  );
}
