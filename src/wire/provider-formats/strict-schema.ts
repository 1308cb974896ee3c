import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { stringifyJson } from "../../internal/json-text.ts";
import {
  at,
  constantsOf,
  describe,
  type Draft,
  draft,
  hasShape,
  isObject,
  listAt,
  mentionedProperties,
  noteOf,
  objectAt,
  resolveRef,
  textAt,
  typesOf,
} from "./json-schema.ts";

/** What a provider's strict mode takes. */
export interface StrictRules {
  /** Whether every property must be required, so that optional ones take null instead. */
  readonly isAllRequired: boolean;
  /** Whether a definition may refer to itself. */
  readonly isRecursionAllowed: boolean;
  /**
   * Whether a constraint may stay, beside `type`, `enum`, `const`, `properties` and `items`; else it
   * is told in the description.
   */
  readonly keeps: (key: string, value: JsonValue) => boolean;
  /** How much there may be in one schema. */
  readonly most: {
    readonly depth: number;
    readonly properties: number;
    readonly enumValues: number;
    /** An enum of more values than this may have `longEnumCharacters` in all. */
    readonly shortEnumValues: number;
    readonly longEnumCharacters: number;
    readonly characters: number;
  };
}

/**
 * Rewrites a schema for a provider's strict mode: closed objects, optional properties as the
 * provider wants them, and what the mode does not know in the description. A value that the original
 * accepts is accepted with null for what is absent, but for keys that it does not declare.
 *
 * @param schema a schema whose root is a plain object
 * @returns `null` where the schema can't be strict, such as one that takes any key
 */
export function strictSchema(schema: JsonSchema, rules: StrictRules): JsonSchema | null {
  try {
    return new Rewriter(schema, rules).run();
  } catch (error) {
    if (error instanceof NotStrict) return null;
    throw error;
  }
}

class NotStrict extends Error {}

/** What may stand beside a reference and says nothing about values. */
const silent = new Set(["$schema", "$id", "$comment", "$defs", "definitions", "title"]);

/** Constraints and hints that a description can tell. */
const tellable = new Set([
  ...["default", "examples", "format", "pattern", "minLength", "maxLength", "contentEncoding"],
  ...["contentMediaType", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "minContains"],
  ...["maxContains", "minProperties", "maxProperties", "propertyNames", "not", "if", "then"],
  ...["else", "dependentRequired", "dependentSchemas"],
]);

/** What can't be told without lying about which keys or items there may be. */
const impossible = [
  ...["patternProperties", "unevaluatedProperties", "unevaluatedItems", "prefixItems"],
  ...["additionalItems", "dependencies", "$anchor", "$dynamicRef", "$dynamicAnchor"],
  ...["$recursiveRef", "$recursiveAnchor"],
];

class Rewriter {
  readonly #root: JsonSchema;
  readonly #rules: StrictRules;
  /** The definitions referred to, under their names in the result. */
  readonly #definitions = new Map<string, JsonValue | undefined>();
  #properties = 0;
  #enumValues = 0;
  #characters = 0;

  constructor(root: JsonSchema, rules: StrictRules) {
    this.#root = root;
    this.#rules = rules;
  }

  run(): JsonSchema {
    for (const key of ["anyOf", "oneOf", "allOf", "$ref"]) {
      if (Object.hasOwn(this.#root, key)) throw new NotStrict();
    }
    const result = draft(this.#node(this.#root, 0));
    const definitions = draft();
    // The map grows while it is walked: a definition may refer to others.
    for (const [name, schema] of this.#definitions) {
      if (!isObject(schema)) throw new NotStrict();
      definitions[name] = this.#node(schema, 1);
      this.#characters += name.length;
    }
    if (this.#definitions.size > 0) result["$defs"] = definitions;
    if (!this.#rules.isRecursionAllowed && isRecursive(result)) throw new NotStrict();
    const { most } = this.#rules;
    if (
      this.#properties > most.properties ||
      this.#enumValues > most.enumValues ||
      this.#characters > most.characters
    ) {
      throw new NotStrict();
    }
    return result;
  }

  #node(schema: JsonValue | undefined, depth: number): JsonObject {
    if (!isObject(schema) || depth > this.#rules.most.depth) throw new NotStrict();
    if (impossible.some((key) => Object.hasOwn(schema, key))) throw new NotStrict();
    const single = listAt(schema, "allOf");
    if (single.length === 1 && isObject(single[0])) {
      return this.#node(merged(schema, single[0]), depth);
    }
    const ref = textAt(schema, "$ref");
    if (ref !== undefined) return this.#reference(schema, ref);

    const variants = [...listAt(schema, "anyOf"), ...listAt(schema, "oneOf")];
    const types = typesOf(schema);
    if (variants.length > 0 && !hasShape(schema) && !constantsOf(schema)) {
      // What it says of keys beside its alternatives would be lost.
      const isKeyed = ["required", "additionalProperties"].some((key) =>
        Object.hasOwn(schema, key),
      );
      if (isKeyed) throw new NotStrict();
      return this.#alternatives(schema, variants, depth);
    }
    if (types.length === 0) throw new NotStrict();
    return this.#typed(schema, types, depth);
  }

  #typed(schema: JsonObject, types: readonly string[], depth: number): JsonObject {
    const result = draft();
    const notes: string[] = [];
    result["type"] = types.length === 1 ? (types[0] as string) : types;
    const title = textAt(schema, "title");
    if (title !== undefined) result["title"] = title;
    this.#constants(schema, result);
    if (types.includes("object")) this.#object(schema, result, depth);
    if (types.includes("array")) result["items"] = this.#node(at(schema, "items"), depth + 1);
    this.#constraints(schema, result, notes);
    for (const key of ["anyOf", "oneOf", "allOf"]) {
      if (Object.hasOwn(schema, key)) notes.push(noteOf(key, at(schema, key) as JsonValue));
    }
    const description = describe(textAt(schema, "description"), notes);
    if (description !== undefined) result["description"] = description;
    return result;
  }

  #constants(schema: JsonObject, result: Draft): void {
    const values = constantsOf(schema);
    if (!values) return;
    if (values.some((value) => typeof value === "object" && value !== null)) throw new NotStrict();
    const key = Object.hasOwn(schema, "const") ? "const" : "enum";
    result[key] = at(schema, key) as JsonValue;
    const { most } = this.#rules;
    const characters = values.reduce((sum: number, value) => sum + stringifyJson(value).length, 0);
    const isLong = values.length > most.shortEnumValues;
    if (isLong && characters > most.longEnumCharacters) throw new NotStrict();
    this.#enumValues += values.length;
    this.#characters += characters;
  }

  #object(schema: JsonObject, result: Draft, depth: number): void {
    const properties = objectAt(schema, "properties");
    const extra = at(schema, "additionalProperties");
    // An object without declared keys, or with a schema for the others, is a map.
    if (!properties || (extra !== undefined && extra !== false)) throw new NotStrict();
    const required = new Set(listAt(schema, "required"));
    for (const name of mentionedProperties(schema)) {
      if (!Object.hasOwn(properties, name)) throw new NotStrict();
    }
    const rewritten = draft();
    for (const [name, inner] of Object.entries(properties)) {
      const node = this.#node(inner, depth + 1);
      const isNullable = this.#rules.isAllRequired && !required.has(name);
      rewritten[name] = isNullable ? nullable(node) : node;
      this.#properties += 1;
      this.#characters += name.length;
    }
    const names = Object.keys(properties);
    result["properties"] = rewritten;
    result["required"] = this.#rules.isAllRequired
      ? names
      : names.filter((name) => required.has(name));
    result["additionalProperties"] = false;
  }

  #constraints(schema: JsonObject, result: Draft, notes: string[]): void {
    for (const [key, value] of Object.entries(schema)) {
      if (!tellable.has(key)) continue;
      if (this.#rules.keeps(key, value)) result[key] = value;
      else notes.push(noteOf(key, value));
    }
  }

  #alternatives(schema: JsonObject, variants: readonly JsonValue[], depth: number): JsonObject {
    const result = draft();
    const notes: string[] = [];
    const type = at(schema, "type");
    result["anyOf"] = variants.map((variant) => {
      const isBare = type !== undefined && isObject(variant) && typesOf(variant).length === 0;
      return this.#node(isBare ? { type, ...variant } : variant, depth);
    });
    for (const [key, value] of Object.entries(schema)) {
      if (tellable.has(key)) notes.push(noteOf(key, value));
    }
    const title = textAt(schema, "title");
    if (title !== undefined) result["title"] = title;
    const description = describe(textAt(schema, "description"), notes);
    if (description !== undefined) result["description"] = description;
    return at(schema, "nullable") === true ? nullable(result) : result;
  }

  #reference(schema: JsonObject, ref: string): JsonObject {
    const target = resolveRef(this.#root, ref);
    if (!isObject(target)) throw new NotStrict();
    const others = Object.keys(schema).filter(
      (key) => key !== "$ref" && key !== "description" && !silent.has(key),
    );
    const notes = others.map((key) => {
      if (!tellable.has(key)) throw new NotStrict();
      return noteOf(key, at(schema, key) as JsonValue);
    });
    const result = draft({ $ref: ref === "#" ? ref : `#/$defs/${this.#define(ref, target)}` });
    const description = describe(textAt(schema, "description"), notes);
    // Beside a reference nothing else may stand.
    return description === undefined ? result : draft({ anyOf: [result], description });
  }

  #define(ref: string, target: JsonObject): string {
    const stem = (ref.split("/").at(-1) ?? "").replaceAll(/[^a-zA-Z0-9_]/gu, "_") || "def";
    for (let round = 1; ; round += 1) {
      const name = round === 1 ? stem : `${stem}_${round}`;
      if (this.#definitions.has(name) && this.#definitions.get(name) !== target) continue;
      this.#definitions.set(name, target);
      return name;
    }
  }
}

/** A schema with its only conjunct taken in; where both say something, neither can be dropped. */
function merged(schema: JsonObject, conjunct: JsonObject): JsonObject {
  const { allOf: _allOf, ...own } = draft(schema);
  for (const key of Object.keys(conjunct)) {
    if (Object.hasOwn(own, key) && key !== "title" && key !== "description") throw new NotStrict();
  }
  return draft({ ...conjunct, ...own });
}

/** A schema that also takes null. */
function nullable(schema: JsonObject): JsonObject {
  if (takesNull(schema)) return schema;
  const type = at(schema, "type");
  if (typeof type === "string" && !constantsOf(schema) && type !== "object" && type !== "array") {
    return draft({ ...schema, type: [type, "null"] });
  }
  const { description, ...rest } = draft(schema);
  const said = description === undefined ? {} : { description };
  const isUnion = Object.hasOwn(rest, "anyOf") && !Object.hasOwn(rest, "type");
  if (isUnion)
    return draft({ ...rest, ...said, anyOf: [...listAt(rest, "anyOf"), { type: "null" }] });
  return draft({ ...said, anyOf: [rest, { type: "null" }] });
}

/** Whether a rewritten schema takes null for sure; a reference is not followed. */
function takesNull(schema: JsonValue): boolean {
  if (!isObject(schema)) return false;
  const values = constantsOf(schema);
  if (values) return values.includes(null) && typesOf(schema).includes("null");
  return typesOf(schema).includes("null") || listAt(schema, "anyOf").some(takesNull);
}

function isRecursive(root: JsonSchema): boolean {
  const reaches = (value: JsonValue, path: readonly string[]): boolean => {
    if (Array.isArray(value)) return value.some((item: JsonValue) => reaches(item, path));
    if (!isObject(value)) return false;
    return Object.entries(value).some(([key, inner]) => {
      if (key === "$defs") return false;
      if (key !== "$ref" || typeof inner !== "string") return reaches(inner, path);
      const target = path.includes(inner) ? undefined : resolveRef(root, inner);
      return inner === "#" || target === undefined || reaches(target, [...path, inner]);
    });
  };
  return reaches(root, []);
}
