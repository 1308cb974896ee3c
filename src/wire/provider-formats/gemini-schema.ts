import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import {
  at,
  constantsOf,
  describe,
  type Draft,
  draft,
  hasShape,
  isObject,
  listAt,
  noteOf,
  objectAt,
  resolveRef,
  textAt,
  typeOf,
  typesOf,
} from "./json-schema.ts";

/**
 * Rewrites a schema into the Schema message of the Gemini API: references are written out, a
 * definition within itself as an object of any kind, null becomes `nullable`, constants become
 * `enum`, and what the message has no field for goes into the description.
 *
 * @param schema a schema whose root is a plain object
 * @returns `null` where there are no properties, since Gemini takes no empty object there
 */
export function geminiSchema(schema: JsonSchema): JsonObject | null {
  if (Object.keys(objectAt(schema, "properties") ?? {}).length === 0) return null;
  return new Converter(schema).convert(schema, []);
}

/** Constraints that Schema has fields for, by type. */
const fields: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength", "pattern"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  array: ["minItems", "maxItems"],
  object: ["minProperties", "maxProperties"],
};

const formats: Readonly<Record<string, readonly string[]>> = {
  string: ["date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** Told in the description, where Schema has no field for them. */
const tellable = [
  ...["default", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"],
  ...["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"],
  ...["contains", "minContains", "maxContains", "minProperties", "maxProperties"],
  ...["propertyNames", "patternProperties", "additionalProperties", "not", "if", "then", "else"],
  ...["dependentRequired", "dependentSchemas", "contentEncoding", "contentMediaType"],
];

/** Written out, references can grow without bound; beyond this many nodes the rest is open. */
const mostNodes = 5000;

class Converter {
  readonly #root: JsonSchema;
  #nodes = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  convert(schema: JsonValue | undefined, open: readonly string[]): JsonObject {
    this.#nodes += 1;
    if (!isObject(schema) || this.#nodes > mostNodes) return anything(undefined);
    const ref = textAt(schema, "$ref");
    if (ref !== undefined) return this.#reference(schema, ref, open);
    if (Object.hasOwn(schema, "allOf")) return this.#whole(schema, open);

    const variants = [...listAt(schema, "anyOf"), ...listAt(schema, "oneOf")];
    const types = typesOf(schema);
    if (variants.length > 0 && !hasShape(schema) && !constantsOf(schema)) {
      return this.#alternatives(schema, variants, open);
    }
    const notes = variants.length > 0 ? [noteOf("anyOf", variants)] : [];
    const values = constantsOf(schema);
    if (values && types.length > 0) return constants(schema, values, notes);
    const [first, ...others] = types.filter((type) => type !== "null");
    const isNullable = types.includes("null");
    if (first === undefined) {
      const description = describe(textAt(schema, "description"), tell(schema, [], notes));
      if (!isNullable) return anything(description);
      return draft({ type: "NULL", ...(description === undefined ? {} : { description }) });
    }
    const made = [first, ...others].map((type) => this.#typed(schema, type, { open, notes }));
    return combine(made, isNullable);
  }

  #typed(
    schema: JsonObject,
    type: string,
    { open, notes }: { readonly open: readonly string[]; readonly notes: readonly string[] },
  ): JsonObject {
    const result = draft({ type: type.toUpperCase() });
    const title = textAt(schema, "title");
    if (title !== undefined) result["title"] = title;
    const kept = [...(fields[type] ?? [])];
    for (const key of kept) {
      const value = at(schema, key);
      if (value !== undefined) result[key] = value;
    }
    const format = textAt(schema, "format");
    if (format !== undefined && formats[type]?.includes(format) === true) {
      result["format"] = format;
      kept.push("format");
    }
    if (type === "object") this.#object(schema, result, open);
    if (type === "array") this.#array(schema, result, open);
    if (type === "object" && at(schema, "additionalProperties") === false) {
      kept.push("additionalProperties");
    }
    const description = describe(textAt(schema, "description"), tell(schema, kept, notes));
    if (description !== undefined) result["description"] = description;
    return result;
  }

  #object(schema: JsonObject, result: Draft, open: readonly string[]): void {
    const properties = Object.entries(objectAt(schema, "properties") ?? {});
    if (properties.length === 0) return;
    const converted = draft();
    for (const [name, inner] of properties) converted[name] = this.convert(inner, open);
    result["properties"] = converted;
    // A name that no property bears would have the whole request refused.
    const required = listAt(schema, "required").filter(
      (name) => typeof name === "string" && Object.hasOwn(converted, name),
    );
    if (required.length > 0) result["required"] = required;
  }

  #array(schema: JsonObject, result: Draft, open: readonly string[]): void {
    const items = at(schema, "items");
    const tuple = Array.isArray(items)
      ? (items as readonly JsonValue[])
      : listAt(schema, "prefixItems");
    if (tuple.length === 0) {
      result["items"] = this.convert(items, open);
      return;
    }
    const rest = Array.isArray(items) ? at(schema, "additionalItems") : items;
    const all = [...tuple, ...(rest === false ? [] : [rest ?? true])];
    result["items"] = combine(
      all.map((item) => this.convert(item, open)),
      false,
    );
    if (rest === false && !Object.hasOwn(result, "maxItems")) result["maxItems"] = tuple.length;
  }

  #alternatives(
    schema: JsonObject,
    variants: readonly JsonValue[],
    open: readonly string[],
  ): JsonObject {
    const types = typesOf(schema);
    const type = at(schema, "type");
    const made = variants.map((variant) => {
      const isBare = type !== undefined && isObject(variant) && typesOf(variant).length === 0;
      return this.convert(isBare ? draft({ ...variant, type }) : variant, open);
    });
    const required = listAt(schema, "required");
    const notes = tell(schema, [], required.length > 0 ? [noteOf("required", required)] : []);
    const said = describe(textAt(schema, "description"), notes);
    return combine(
      said === undefined ? made : made.map((one) => describedBy(one, said)),
      at(schema, "nullable") === true && !types.includes("null"),
    );
  }

  /** A schema with all that it refers to and its conjuncts, as one. */
  #whole(schema: JsonObject, open: readonly string[]): JsonObject {
    const followed = new Set(open);
    const spread = (part: JsonValue | undefined): readonly JsonObject[] => {
      if (!isObject(part)) return [];
      const { $ref: ref, allOf: _allOf, ...own } = draft(part);
      const isNew = typeof ref === "string" && !followed.has(ref);
      if (isNew) followed.add(ref);
      const target = isNew ? resolveRef(this.#root, ref) : undefined;
      return [own, ...spread(target), ...listAt(part, "allOf").flatMap(spread)];
    };
    return this.convert(conjunction(spread(schema)), [...followed]);
  }

  #reference(schema: JsonObject, ref: string, open: readonly string[]): JsonObject {
    const target = resolveRef(this.#root, ref);
    if (target === undefined || !open.includes(ref)) return this.#whole(schema, open);
    const again = `any ${ref.split("/").at(-1) ?? "value"} again`;
    const types = isObject(target) ? typesOf(target).filter((type) => type !== "null") : [];
    const description = describe(textAt(schema, "description"), [again]) ?? again;
    return types.length === 1 && types[0] === "object"
      ? draft({ type: "OBJECT", description })
      : anything(description);
  }
}

/** A value of any type, as nearly as Gemini can say it. */
function anything(description: string | undefined): JsonObject {
  const said = description === undefined ? {} : { description };
  const types = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"];
  return draft({ anyOf: types.map((type) => ({ type, ...said })) });
}

/** One of several schemas; beside `anyOf` no other field may stand. */
function combine(given: readonly JsonObject[], isNullable: boolean): JsonObject {
  const flat = given.flatMap((one) =>
    Object.hasOwn(one, "anyOf") ? (listAt(one, "anyOf") as readonly JsonObject[]) : [one],
  );
  const values = flat.filter((one) => at(one, "type") !== "NULL");
  if (values.length === 0) return flat[0] ?? anything(undefined);
  const marks = isNullable || values.length < flat.length ? { nullable: true } : {};
  const [only, ...others] = values.map((one) => draft({ ...one, ...marks }));
  return others.length === 0
    ? (only as JsonObject)
    : draft({ anyOf: [only as JsonObject, ...others] });
}

function describedBy(schema: JsonObject, said: string): JsonObject {
  if (Object.hasOwn(schema, "anyOf")) {
    return draft({
      anyOf: (listAt(schema, "anyOf") as readonly JsonObject[]).map((one) =>
        describedBy(one, said),
      ),
    });
  }
  const own = textAt(schema, "description");
  return draft({ ...schema, description: own === undefined ? said : `${said} ${own}` });
}

/** Listed values; Gemini's `enum` takes strings that are not empty, and no others. */
function constants(
  schema: JsonObject,
  values: readonly JsonValue[],
  before: readonly string[],
): JsonObject {
  const notes = tell(schema, [], before);
  const types = [...new Set(values.map(typeOf))].filter((type) => type !== "null");
  const made = types.map((type) => {
    const own = values.filter((value) => typeOf(value) === type);
    const isEnum = type === "string" && !own.includes("");
    const told = isEnum ? notes : [...notes, noteOf("one of", own)];
    const description = describe(textAt(schema, "description"), told);
    const title = textAt(schema, "title");
    return draft({
      type: type.toUpperCase(),
      ...(isEnum ? { enum: own } : {}),
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      ...(type === "array" ? { items: anything(undefined) } : {}),
    });
  });
  return made.length === 0 ? draft({ type: "NULL" }) : combine(made, values.includes(null));
}

const untold = ["type", "title", "description", "definitions"];

/** Several schemas as one; of what two say, the first is kept and the other told. */
function conjunction(parts: readonly JsonObject[]): JsonObject {
  const result = draft();
  const told: string[] = [];
  for (const [key, value] of parts.flatMap((part) => Object.entries(part))) {
    const held = at(result, key);
    if (held === undefined) result[key] = value;
    else if (key === "properties" && isObject(held) && isObject(value)) {
      result[key] = draft({ ...value, ...held });
    } else if (key === "required" && isList(held) && isList(value)) {
      result[key] = [...held, ...value];
    } else if (!untold.includes(key) && !key.startsWith("$")) told.push(noteOf(key, value));
  }
  const description = describe(textAt(result, "description"), told);
  if (description !== undefined) result["description"] = description;
  return result;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function tell(
  schema: JsonObject,
  kept: readonly string[],
  before: readonly string[],
): readonly string[] {
  const notes = tellable
    .filter((key) => Object.hasOwn(schema, key) && !kept.includes(key))
    .map((key) => noteOf(key, at(schema, key) as JsonValue));
  return [...before, ...notes];
}
