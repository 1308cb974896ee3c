import { readFileSync } from "node:fs";

import type { JsonObject, JsonValue } from "../domain/json.ts";
import { ConfigurationError } from "../errors.ts";
import { parseJson } from "../internal/json-text.ts";
import { schemaAt, typesOf } from "./schema-types.ts";

type Building = { [key: string]: JsonValue | Building };

/**
 * Makes arguments of `key=value` words, each value typed by the tool's schema:
 *
 * - `text=hello` is text where the schema says string, so `code=007` keeps its zeros
 * - `n=3`, `on=true` are a number and a boolean where the schema says so, or says nothing
 * - `list=a list=b` and `list=a,b` and `list=["a","b"]` are lists where the schema says array
 * - `a.b=1` sets `b` in `a`; `a\.b=1` sets the key `a.b`
 * - `key:=JSON` is any JSON, whatever the schema
 * - `key=@file` takes the value from a file; `key=@@x` is the text `@x`
 *
 * A value that does not fit its type is sent as it reads: the tool's own check then says what it
 * expected.
 *
 * @throws ConfigurationError for a word of another form, a bad JSON text, an unreadable file, or a
 *   key that is given twice
 */
export function readToolArguments(words: readonly string[], schema: JsonObject): JsonObject {
  const result = fresh();
  for (const word of words) {
    const match = /^(?<key>(?:\\.|[^=:\\]|:(?!=))+)(?<sign>:?=)(?<text>.*)$/su.exec(word)?.groups;
    if (!match) {
      throw new ConfigurationError(
        `the argument ${JSON.stringify(word)} is of no known form: expected key=value or key:=json`,
      );
    }
    const { key = "", sign, text = "" } = match;
    // A key of the schema's own may have a dot in it.
    const path = schemaAt(schema, [key]) === undefined ? splitPath(key) : [key];
    const at = schemaAt(schema, path);
    const given = fromFile(text);
    const value = sign === ":=" ? readExact(key, given) : valueOf(given, at, schema);
    place(result, path, value, typesOf(at, schema).has("array"), key);
  }
  return result;
}

function valueOf(text: string, at: JsonValue | undefined, root: JsonObject): JsonValue {
  const types = typesOf(at, root);
  const isOpen = types.size === 0;
  if (!isOpen && types.size === 1 && types.has("string")) return text;
  const parsed = tryJson(text);
  if (parsed !== undefined && (isOpen || fits(parsed, types))) return parsed;
  if (types.has("string")) return text;
  if (types.has("array")) {
    const items = schemaAt((at ?? {}) as JsonObject, ["0"], root);
    return text.split(",").map((item) => valueOf(item.trim(), items, root));
  }
  return parsed === undefined ? text : parsed;
}

function fits(value: JsonValue, types: ReadonlySet<string>): boolean {
  if (value === null) return types.has("null");
  if (Array.isArray(value)) return types.has("array");
  if (typeof value === "bigint") return types.has("integer") || types.has("number");
  if (typeof value === "number") {
    return types.has("number") || (types.has("integer") && Number.isInteger(value));
  }
  return types.has(typeof value);
}

function place(
  target: Building,
  path: readonly string[],
  value: JsonValue,
  isList: boolean,
  key: string,
): void {
  let at = target;
  for (const part of path.slice(0, -1)) {
    const next = at[part] ?? (at[part] = fresh());
    if (typeof next !== "object" || next === null || Array.isArray(next)) {
      throw new ConfigurationError(`the argument ${key} has a value and parts at once`);
    }
    at = next as Building;
  }
  const last = path.at(-1) ?? "";
  const known = at[last];
  if (known === undefined) {
    at[last] = value;
  } else if (isList && Array.isArray(known)) {
    at[last] = [
      ...(known as JsonValue[]),
      ...(Array.isArray(value) ? (value as JsonValue[]) : [value]),
    ];
  } else {
    throw new ConfigurationError(`the argument ${key} is given twice`);
  }
}

/** Without a prototype, so that `__proto__` is a key like any other. */
function fresh(): Building {
  return Object.create(null) as Building;
}

function splitPath(key: string): string[] {
  const parts = key.match(/(?:\\.|[^.\\])+/gsu) ?? [key];
  return parts.map((part) => part.replace(/\\(?<char>.)/gsu, "$<char>"));
}

function fromFile(text: string): string {
  if (text.startsWith("@@")) return text.slice(1);
  return text.startsWith("@") ? readTextFile(text.slice(1)) : text;
}

/** @throws ConfigurationError where the file can't be read; `-` is standard input */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const name = path === "-" ? "standard input" : path;
    throw new ConfigurationError(`cannot read ${name} (${why}): expected a readable file`, {
      cause: error,
    });
  }
}

function readExact(key: string, text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    throw new ConfigurationError(`the argument ${key} is not JSON: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Checks that a text is one JSON object, and returns it trimmed.
 *
 * @param name what to call it in the error
 * @throws ConfigurationError that says where it stops being JSON
 */
export function requireJsonObject(name: string, text: string): string {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new ConfigurationError(`${name} is not JSON: ${reasonOf(error)}`, { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return text.trim();
  throw new ConfigurationError(
    `${name} is not a JSON object: expected one such as '{"key":"value"}'`,
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\s+/gu, " ") : String(error);
}

function tryJson(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
