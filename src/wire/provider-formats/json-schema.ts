import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { stringifyJson } from "../../internal/json-text.ts";

/** A JSON object under construction; without a prototype, so that any key is only a key. */
export type Draft = Record<string, JsonValue>;

/** An object to build on, holding what is given. */
export function draft(from: JsonObject = {}): Draft {
  return Object.assign(Object.create(null) as Draft, from);
}

/** Whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own member that is an object; else `undefined`. */
export function objectAt(schema: JsonObject, key: string): JsonObject | undefined {
  const value = at(schema, key);
  return isObject(value) ? value : undefined;
}

/** An own member that is a list; else the empty list. */
export function listAt(schema: JsonObject, key: string): readonly JsonValue[] {
  const value = at(schema, key);
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** An own member that is a string; else `undefined`. */
export function textAt(schema: JsonObject, key: string): string | undefined {
  const value = at(schema, key);
  return typeof value === "string" ? value : undefined;
}

/** An own member. */
export function at(schema: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(schema, key) ? schema[key] : undefined;
}

/** What a reference within the document points at; `undefined` where it points at nothing. */
export function resolveRef(root: JsonSchema, ref: string): JsonValue | undefined {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of ref.split("/").slice(1)) {
    const key = unescapePointer(part);
    if (Array.isArray(found)) found = (found as readonly JsonValue[])[Number(key)];
    else found = isObject(found) ? at(found, key) : undefined;
  }
  return found;
}

function unescapePointer(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // No escape at all, then.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The types that a schema names, inferred where only its keywords tell. */
export function typesOf(schema: JsonObject): readonly string[] {
  const type = at(schema, "type");
  const types = (Array.isArray(type) ? (type as readonly JsonValue[]) : [type]).filter(
    (each): each is string => typeof each === "string",
  );
  const named = types.length > 0 ? types : inferTypes(schema);
  const isNullable = at(schema, "nullable") === true && named.length > 0;
  return isNullable && !named.includes("null") ? [...named, "null"] : named;
}

/** Whether a schema itself says what its properties or items are. */
export function hasShape(schema: JsonObject): boolean {
  return ["properties", "items", "prefixItems"].some((key) => Object.hasOwn(schema, key));
}

function inferTypes(schema: JsonObject): readonly string[] {
  const values = constantsOf(schema);
  if (values) return [...new Set(values.map(typeOf))];
  if (objectAt(schema, "properties")) return ["object"];
  if (Object.hasOwn(schema, "items") || Object.hasOwn(schema, "prefixItems")) return ["array"];
  return [];
}

/** The only values that a schema allows, where it lists them. */
export function constantsOf(schema: JsonObject): readonly JsonValue[] | undefined {
  const constant = at(schema, "const");
  if (constant !== undefined) return [constant];
  return Array.isArray(at(schema, "enum")) ? listAt(schema, "enum") : undefined;
}

/** The JSON Schema type of a value. */
export function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value;
}

/** The longest note that is worth a model's reading, in UTF-16 units. */
const longestNote = 1000;

/** A keyword and its value for people and models, where the provider's schema has no place for it. */
export function noteOf(key: string, value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length <= longestNote ? `${key}: ${text}` : `${key}: (left out)`;
}

/** A description with notes behind it; `undefined` where there is neither. */
export function describe(
  description: string | undefined,
  notes: readonly string[],
): string | undefined {
  const said = notes.length > 0 ? `(${notes.join("; ")})` : "";
  const text = [description ?? "", said].filter((part) => part !== "").join(" ");
  return text === "" ? undefined : text;
}

/**
 * The property names that a schema's conditions and combinations speak of, at the level of the value
 * itself.
 */
export function mentionedProperties(schema: JsonValue | undefined): readonly string[] {
  if (!isObject(schema)) return [];
  const inner = [
    ...["allOf", "anyOf", "oneOf"].flatMap((key) => listAt(schema, key)),
    ...["if", "then", "else", "not"].map((key) => at(schema, key)),
    ...Object.values(objectAt(schema, "dependentSchemas") ?? {}),
  ];
  return [
    ...Object.keys(objectAt(schema, "properties") ?? {}),
    ...listAt(schema, "required").filter((name): name is string => typeof name === "string"),
    ...Object.keys(objectAt(schema, "dependentSchemas") ?? {}),
    ...Object.entries(objectAt(schema, "dependentRequired") ?? {}).flatMap(([key, names]) => [
      key,
      ...(Array.isArray(names) ? (names as readonly string[]) : []),
    ]),
    ...inner.flatMap(mentionedProperties),
  ];
}
