import { types } from "node:util";

import { stringifyJson } from "./json-text.ts";

/**
 * Writes JSON as {@link stringifyJson} does, and refuses what that would write as `{}` though it
 * holds something: a Map, a Set, a promise, an error, a regular expression, bytes without a view, an
 * iterator.
 *
 * @throws TypeError that names the path of such a value, and whatever a cycle, a getter or a
 *   `toJSON` throws
 */
export function stringifyWhole(value: unknown): string {
  const text = stringifyJson(value);
  // Only where that is written is there anything to look for; a second pass is rare.
  if (text.includes("{}")) refuseLost(value);
  return text;
}

function refuseLost(root: unknown): void {
  const paths = new Map<unknown, string>();
  JSON.stringify(root, function visit(this: unknown, key: string, value: unknown): unknown {
    if (typeof value === "bigint") return null;
    if (typeof value !== "object" || value === null) return value;
    const path = pathOf(paths.get(this), key, Array.isArray(this));
    const kind = kindLost(value);
    if (kind !== undefined) {
      throw new TypeError(
        `${path === "" ? "it" : path} is ${kind}, which JSON would write as {}: give plain data instead`,
      );
    }
    paths.set(value, path);
    return value;
  });
}

function pathOf(around: string | undefined, key: string, isItem: boolean): string {
  // The root stands in an object that is nobody's.
  if (around === undefined) return "";
  if (isItem) return `${around}[${key}]`;
  const isPlain = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key);
  if (!isPlain) return `${around}[${JSON.stringify(key)}]`;
  return around === "" ? key : `${around}.${key}`;
}

const kinds: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ["a Map", types.isMap],
  ["a Set", types.isSet],
  ["a WeakMap", types.isWeakMap],
  ["a WeakSet", types.isWeakSet],
  ["a promise", types.isPromise],
  ["an error", types.isNativeError],
  ["a regular expression", types.isRegExp],
  ["an ArrayBuffer", types.isAnyArrayBuffer],
  ["an iterator", types.isGeneratorObject],
  ["an iterator", types.isMapIterator],
  ["an iterator", types.isSetIterator],
  ["a Blob", (value) => value instanceof Blob],
];

/** What kind of thing a value is, where nothing of it would be written. */
function kindLost(value: object): string | undefined {
  const kind = kinds.find(([, isKind]) => isKind(value))?.[0];
  return kind !== undefined && Object.keys(value).length === 0 ? kind : undefined;
}
