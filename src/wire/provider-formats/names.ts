import { createHash } from "node:crypto";

/** What a provider allows as a tool's name. */
export interface NameRule {
  /** Matches a whole name that may stay as it is, but for its length. */
  readonly allowed: RegExp;
  /** Matches each character that may stand in a name. */
  readonly character: RegExp;
  /** In characters, all of which are ASCII. */
  readonly maxLength: number;
}

/**
 * Gives every tool of a set the name that a provider knows it by. A name that the provider allows
 * stays. Another has what is not allowed replaced by `_`; where that is too long, says nothing, or is
 * what some other tool is called, it is cut and a hash of the exact name is added. The answer depends
 * on the set of names alone, neither on their order nor on the process.
 *
 * @param names exact names, each once
 * @param rule the provider's, or `null` where any name will do
 * @returns the provider's name by the exact name; no two are equal
 */
export function providerNames(
  names: readonly string[],
  rule: NameRule | null,
): ReadonlyMap<string, string> {
  if (rule === null) return new Map(names.map((name) => [name, name]));
  const found = new Map<string, string>();
  const taken = new Set<string>();
  const give = (name: string, given: string): void => {
    found.set(name, given);
    taken.add(given);
  };

  const others = names.filter((name) => !isAllowed(name, rule)).toSorted();
  for (const name of names) if (isAllowed(name, rule)) give(name, name);

  const cleaned = others.map((name) => [name, clean(name, rule)] as const);
  const claims = new Map<string, number>();
  for (const [, given] of cleaned) claims.set(given, (claims.get(given) ?? 0) + 1);
  const unclear: (readonly [string, string])[] = [];
  for (const [name, given] of cleaned) {
    const isClear = isAllowed(given, rule) && claims.get(given) === 1 && !taken.has(given);
    if (isClear && /[a-zA-Z0-9]/u.test(given)) give(name, given);
    else unclear.push([name, given]);
  }
  for (const [name, given] of unclear) give(name, marked(name, given, { rule, taken }));
  return found;
}

const markLength = 8;

function marked(
  name: string,
  cleaned: string,
  { rule, taken }: { readonly rule: NameRule; readonly taken: ReadonlySet<string> },
): string {
  const stem = /[a-zA-Z0-9]/u.test(cleaned) ? cleaned : "tool";
  const cut = stem.slice(0, rule.maxLength - markLength - 1);
  for (let round = 0; ; round += 1) {
    // As UTF-16, since in UTF-8 two different lone surrogates are one.
    const hash = createHash("sha256").update(name, "utf16le").update(String(round)).digest("hex");
    const given = `${cut}_${hash.slice(0, markLength)}`;
    if (!taken.has(given)) return given;
  }
}

function clean(name: string, { allowed, character }: NameRule): string {
  const given = Array.from(name, (each) => (character.test(each) ? each : "_")).join("");
  // Every character may stand in a name now, so only the first can still be at fault.
  return allowed.test(given) ? given : `_${given}`;
}

/** A reader in JavaScript that keeps names in a plain object would lose this one. */
const lost = "__proto__";

function isAllowed(name: string, { allowed, maxLength }: NameRule): boolean {
  return name !== lost && name.length <= maxLength && allowed.test(name);
}
