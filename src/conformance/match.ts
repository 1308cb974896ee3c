import type { Data, DataObject, FaultExpectation } from "./cases.ts";
import { compareFault } from "./faults.ts";
import type { Variables } from "./values.ts";

/**
 * Compares what came with what a case expects, both as canonical protobuf JSON. README.md says what
 * the matchers mean.
 *
 * @param captured takes what `$capture` names
 * @param path where it stands, for the sentences
 * @returns a sentence for each difference; none where it matches
 */
export function compare(
  actual: Data | undefined,
  expected: Data,
  captured: Variables,
  path = "",
): readonly string[] {
  if (expected === null) {
    return actual === undefined ? [] : [`${at(path)} is ${show(actual)}, expected it to be absent`];
  }
  if (typeof expected !== "object") {
    return actual === expected ? [] : [differs(path, actual, show(expected))];
  }
  if (isList(expected)) return compareList(actual, expected, captured, path);
  const [matcher, ...others] = Object.keys(expected);
  if (matcher?.startsWith("$") && others.length === 0) {
    const match = matchers[matcher];
    if (!match) throw new Error(`there is no matcher ${matcher}`);
    return match(actual, expected[matcher] as never, captured, path);
  }
  if (!isObject(actual)) {
    // What is absent has no parts; that is no difference where none is asked for.
    if (actual === undefined && Object.values(expected).every((part) => part === null)) return [];
    return [differs(path, actual, "an object")];
  }
  return Object.entries(expected).flatMap(([key, part]) =>
    compare(actual[key], part, captured, `${path}.${key}`),
  );
}

type Matcher = (
  actual: Data | undefined,
  operand: never,
  captured: Variables,
  path: string,
) => readonly string[];

const matchers: Readonly<Record<string, Matcher>> = {
  $any: (actual, _operand, _captured, path) =>
    actual === undefined ? [differs(path, actual, "anything")] : [],
  $capture(actual, name: string, captured, path) {
    if (actual === undefined) return [differs(path, actual, "anything")];
    captured.set(name, typeof actual === "string" ? actual : JSON.stringify(actual));
    return [];
  },
  $matches: (actual, pattern: string, _captured, path) =>
    typeof actual === "string" && new RegExp(pattern, "u").test(actual)
      ? []
      : [differs(path, actual, `a text that matches ${pattern}`)],
  $contains(actual, texts: string | readonly string[], _captured, path) {
    const missing = [texts]
      .flat()
      .filter((text) => typeof actual !== "string" || !actual.includes(text));
    return missing.map((text) => differs(path, actual, `a text with ${show(text)}`));
  },
  $json(actual, value: Data, _captured, path) {
    const expected = `JSON of ${show(value)}`;
    if (typeof actual !== "string") return [differs(path, actual, expected)];
    try {
      return isSame(JSON.parse(actual) as Data, value) ? [] : [differs(path, actual, expected)];
    } catch {
      return [differs(path, actual, expected)];
    }
  },
  $range(actual, [least, most]: readonly [number | null, number | null], _captured, path) {
    const number = actual ?? 0;
    const isWithin =
      typeof number === "number" && number >= (least ?? -Infinity) && number <= (most ?? Infinity);
    return isWithin ? [] : [differs(path, actual, `a number within ${show([least, most])}`)];
  },
  $size(actual, size: number, _captured, path) {
    const is =
      typeof actual === "string"
        ? Buffer.byteLength(actual)
        : actual !== undefined && isList(actual)
          ? actual.length
          : undefined;
    return is === size ? [] : [`${at(path)} has the size ${is}, expected ${size}`];
  },
  $includes(actual, parts: readonly Data[], captured, path) {
    const items = actual !== undefined && isList(actual) ? actual : [];
    return parts
      .filter((part) => !items.some((item) => compare(item, part, captured, path).length === 0))
      .map((part) => differs(path, actual, `a list with ${show(part)}`));
  },
  $exactly(actual, parts: DataObject, captured, path) {
    const given = isObject(actual) ? actual : {};
    const others = Object.keys(given).filter((key) => !Object.hasOwn(parts, key));
    return [
      ...compare(given, parts, captured, path),
      ...others.map((key) => `${at(path)} has ${show(key)}, expected no such key`),
    ];
  },
  $all: (actual, parts: readonly Data[], captured, path) =>
    parts.flatMap((part) => compare(actual, part, captured, path)),
  $fault: (actual, fault: FaultExpectation, captured, path) =>
    compareFault(actual, fault, path, (message, expected) =>
      compare(message, expected, captured, `${path}.message`),
    ),
};

function compareList(
  actual: Data | undefined,
  expected: readonly Data[],
  captured: Variables,
  path: string,
): readonly string[] {
  if (actual === undefined || !isList(actual) || actual.length !== expected.length) {
    return [differs(path, actual, `${expected.length} of ${show(expected)}`)];
  }
  return expected.flatMap((part, i) => compare(actual[i], part, captured, `${path}[${i}]`));
}

function isSame(a: Data, b: Data): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (isList(a) || isList(b)) {
    return (
      isList(a) &&
      isList(b) &&
      a.length === b.length &&
      a.every((item, i) => isSame(item, b[i] ?? null))
    );
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key] ?? null, b[key] ?? null))
  );
}

function isList(data: Data): data is readonly Data[] {
  return Array.isArray(data);
}

function isObject(data: Data | undefined): data is DataObject {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

function differs(path: string, actual: Data | undefined, expected: string): string {
  return `${at(path)} is ${actual === undefined ? "absent" : show(actual)}, expected ${expected}`;
}

function at(path: string): string {
  return path === "" ? "it" : path.replace(/^\./u, "");
}

function show(data: Data): string {
  const text = JSON.stringify(data);
  return text.length <= 400 ? text : `${text.slice(0, 400)}… (${text.length} characters)`;
}
