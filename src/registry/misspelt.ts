import { traitNames } from "./tool-options.ts";

const own = ["name", "description", "parameters", "output", "execute"];

/** What other systems call an option. */
const otherNames: Readonly<Record<string, string>> = {
  args: "parameters",
  argsschema: "parameters",
  coroutine: "execute",
  func: "execute",
  handler: "execute",
  hidden: "visibility",
  inputschema: "parameters",
  outputschema: "output",
  readonlyhint: "readOnly",
  destructivehint: "destructive",
  idempotenthint: "idempotent",
  openworldhint: "openWorld",
  run: "execute",
  schema: "parameters",
  timeout: "timeoutMs",
};

/**
 * Warns of the members of a description that are no options but read as if meant to be one. Any
 * other member is the object's own matter.
 */
export function warnOfMisspelt(description: object): readonly string[] {
  const options = [...own, ...traitNames];
  return Object.keys(description).flatMap((key) => {
    if (options.includes(key)) return [];
    const meant = meantBy(key, options);
    if (meant === undefined || Object.hasOwn(description, meant)) return [];
    return [`${key} is no option and is ignored: did you mean ${meant}?`];
  });
}

function meantBy(key: string, options: readonly string[]): string | undefined {
  const plain = plainly(key);
  const known = otherNames[plain];
  return known ?? options.find((option) => isNear(plain, plainly(option)));
}

/** `timeout_ms` is `timeoutMs`. */
function plainly(name: string): string {
  return name.replace(/[_-]/gu, "").toLowerCase();
}

/** Short words differ from one another by little, so that only longer ones may be near. */
function isNear(given: string, option: string): boolean {
  const most = option.length < 5 ? 0 : option.length < 8 ? 1 : 2;
  return Math.abs(given.length - option.length) <= most && distance(given, option) <= most;
}

/** How many letters are to be put in, taken out or replaced. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
