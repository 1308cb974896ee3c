import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { canonicalJson } from "../../internal/json-text.ts";
import {
  at,
  describe,
  type Draft,
  draft,
  isObject,
  listAt,
  noteOf,
  objectAt,
  resolveRef,
  textAt,
} from "./json-schema.ts";

/** What no provider takes at the root of a tool's parameters. */
const combinations = ["allOf", "anyOf", "oneOf", "not", "enum", "const", "$ref"] as const;

/** A schema whose root is a plain object. */
export interface PlainRoot {
  readonly schema: JsonSchema;
  /** Whether it stands for alternatives, of which a value must still meet one. */
  readonly isUnion: boolean;
}

/**
 * Makes the root of a tool's parameters an object with properties, which is all that providers take
 * there: the properties of alternatives and conjuncts become its own, required is what every
 * alternative requires, and the rest is told in the description. What the original accepts of the
 * properties that it declares, the result accepts.
 */
export function plainRoot(schema: JsonSchema): PlainRoot {
  const { $schema: _draft, $id: _id, ...rest } = draft(schema);
  const used = combinations.filter((key) => Object.hasOwn(rest, key));
  const members = membersOf(schema, schema, 0);
  const result = draft({ ...rest, type: "object", properties: members.properties });
  if (used.length > 0) {
    const notes = used
      .filter((key) => key !== "$ref" && !(key === "allOf" && listAt(rest, key).every(isPlain)))
      .map((key) => noteOf(key, rest[key] as JsonValue));
    for (const key of used) delete result[key];
    if (members.required.length > 0) result["required"] = members.required;
    const description = describe(textAt(rest, "description"), notes);
    if (description !== undefined) result["description"] = description;
    // Closed, the root would refuse what only a conjunct or an alternative knows.
    if (at(rest, "additionalProperties") !== false) delete result["additionalProperties"];
  }
  return { schema: result, isUnion: members.isUnion };
}

const plainKeys = ["type", "properties", "required", "title", "description", "$ref"];

/** Whether all that a conjunct says is in its members. */
function isPlain(conjunct: JsonValue): boolean {
  return isObject(conjunct) && Object.keys(conjunct).every((key) => plainKeys.includes(key));
}

interface Members {
  readonly properties: JsonObject;
  readonly required: readonly JsonValue[];
  readonly isUnion: boolean;
}

const none: Members = { properties: {}, required: [], isUnion: false };

const maxDepth = 16;

function membersOf(schema: JsonObject, root: JsonSchema, depth: number): Members {
  const properties = draft(objectAt(schema, "properties"));
  const required = new Set(listAt(schema, "required"));
  let isUnion = ["anyOf", "oneOf"].some((key) => Object.hasOwn(schema, key));
  if (depth > maxDepth) return { properties, required: [...required], isUnion };
  const inner = (one: JsonValue | undefined): Members =>
    isObject(one) ? membersOf(one, root, depth + 1) : none;

  const ref = textAt(schema, "$ref");
  const target = ref === undefined ? undefined : resolveRef(root, ref);
  const conjuncts = [...(target === undefined ? [] : [target]), ...listAt(schema, "allOf")];
  for (const conjunct of conjuncts.map(inner)) {
    addMissing(properties, conjunct.properties);
    for (const name of conjunct.required) required.add(name);
    isUnion ||= conjunct.isUnion;
  }
  for (const key of ["anyOf", "oneOf"]) {
    const variants = listAt(schema, key).map(inner);
    addMissing(properties, union(variants.map((variant) => variant.properties)));
    const [first, ...others] = variants.map((variant) => variant.required);
    for (const name of first ?? []) {
      if (others.every((names) => names.includes(name))) required.add(name);
    }
  }
  return { properties, required: [...required], isUnion };
}

function addMissing(properties: Draft, more: JsonObject): void {
  for (const [key, value] of Object.entries(more)) {
    if (!Object.hasOwn(properties, key)) properties[key] = value;
  }
}

function union(variants: readonly JsonObject[]): JsonObject {
  const found = new Map<string, Map<string, JsonValue>>();
  for (const variant of variants) {
    for (const [key, value] of Object.entries(variant)) {
      const held = found.get(key) ?? new Map<string, JsonValue>();
      found.set(key, held.set(canonicalJson(value), value));
    }
  }
  const properties = draft();
  for (const [key, held] of found) {
    const [only, ...others] = held.values();
    properties[key] = others.length === 0 ? (only as JsonValue) : { anyOf: [...held.values()] };
  }
  return properties;
}
