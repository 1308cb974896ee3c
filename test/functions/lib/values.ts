import fc from "fast-check";
import type { JsonObject, JsonSchema, JsonValue } from "../../../src/domain/json.ts";

type Values = fc.Arbitrary<JsonValue>;

const maxDepth = 4;

/** Values that a schema of the kind that is derived from types accepts. */
export function valuesOf(schema: JsonSchema): fc.Arbitrary<JsonObject> {
  return values(schema, schema, 0) as fc.Arbitrary<JsonObject>;
}

function values(node: JsonValue | undefined, root: JsonSchema, depth: number): Values {
  if (node === undefined || node === true) return fc.jsonValue() as Values;
  const schema = node as JsonObject;
  if (typeof schema["$ref"] === "string") {
    const name = schema["$ref"].slice("#/$defs/".length);
    return values((root["$defs"] as JsonObject)[name], root, depth + 1);
  }
  const branches = schema["anyOf"] as readonly JsonValue[] | undefined;
  if (branches) return fc.oneof(...branches.map((one) => values(one, root, depth)));
  if (schema["const"] !== undefined) return fc.constant(schema["const"]);
  const allowed = schema["enum"] as readonly JsonValue[] | undefined;
  if (allowed) return fc.constantFrom(...allowed);
  return ofType(schema, root, depth);
}

function ofType(schema: JsonObject, root: JsonSchema, depth: number): Values {
  const { type } = schema;
  if (Array.isArray(type)) {
    return fc.oneof(...type.map((one: JsonValue) => ofType({ ...schema, type: one }, root, depth)));
  }
  switch (type) {
    case "string":
      return texts(schema);
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 });
    case "integer":
      return fc.integer();
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return lists(schema, root, depth);
    case "object":
      return objects(schema, root, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 }) as Values;
  }
}

function texts(schema: JsonObject): Values {
  if (schema["format"] === "date-time") {
    const dates = fc.date({
      min: new Date("1990-01-01T00:00:00Z"),
      max: new Date("2040-01-01T00:00:00Z"),
      noInvalidDate: true,
    });
    return dates.map((date) => date.toISOString());
  }
  if (schema["contentEncoding"] === "base64") {
    return fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64"));
  }
  const { pattern } = schema;
  return typeof pattern === "string"
    ? fc.stringMatching(new RegExp(pattern, "u"), { maxLength: 12 })
    : fc.string({ maxLength: 8 });
}

function lists(schema: JsonObject, root: JsonSchema, depth: number): Values {
  const prefix = (schema["prefixItems"] ?? []) as readonly JsonValue[];
  const least = (schema["minItems"] as number | undefined) ?? 0;
  const heads = fc
    .integer({ min: Math.min(least, prefix.length), max: prefix.length })
    .chain((count) => fc.tuple(...prefix.slice(0, count).map((one) => values(one, root, depth))));
  const items = schema["items"];
  const isClosed = items === undefined && schema["maxItems"] !== undefined;
  if (isClosed || depth > maxDepth) return heads;
  const tails = fc.array(values(items, root, depth + 1), { maxLength: 3 });
  // Only a whole head may be followed by more.
  return fc
    .tuple(heads, tails)
    .map(([head, tail]) => (head.length === prefix.length ? [...head, ...tail] : [...head]));
}

function objects(schema: JsonObject, root: JsonSchema, depth: number): Values {
  const required = new Set((schema["required"] ?? []) as readonly string[]);
  const members = Object.entries((schema["properties"] ?? {}) as JsonObject)
    // What no value fits is left out, as are optional members of types that go on.
    .filter(([key, one]) => required.has(key) || (!isNever(one) && depth <= maxDepth));
  const known = fc.record(
    Object.fromEntries(members.map(([key, one]) => [key, values(one, root, depth + 1)])),
    { requiredKeys: [...required] },
  ) as fc.Arbitrary<JsonObject>;
  // Types that go on end where they may.
  if (depth > maxDepth) return known;
  const open = Object.entries((schema["patternProperties"] ?? {}) as JsonObject).map(
    ([pattern, one]) =>
      fc.dictionary(
        fc.stringMatching(new RegExp(pattern, "u"), { maxLength: 6 }),
        values(one, root, depth + 1),
        { maxKeys: 2 },
      ),
  );
  const rest = schema["additionalProperties"];
  if (rest !== undefined) {
    const keys = fc.string({ maxLength: 4 }).filter((key) => key !== "__proto__");
    open.push(fc.dictionary(keys, values(rest, root, depth + 1), { maxKeys: 2 }));
  }
  return fc
    .tuple(known, ...open)
    .map(([own, ...others]) => Object.assign({}, ...others, own) as JsonObject);
}

function isNever(schema: JsonValue): boolean {
  return typeof schema === "object" && schema !== null && "not" in schema;
}

const strangers: readonly JsonValue[] = ["?", 7.5, true, null, {}, ["?"], [true]];

/** The same values with one place of them replaced or removed. */
export function mutated(given: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return fc
    .tuple(given, fc.nat(), fc.constantFrom(...strangers, undefined))
    .map(([value, at, stranger]) => {
      const copy = JSON.parse(JSON.stringify(value)) as JsonObject;
      const places = [...placesOf(copy)];
      const place = places[at % Math.max(1, places.length)];
      if (place) change(place, stranger);
      return copy;
    });
}

interface Place {
  readonly holder: Record<string, JsonValue>;
  readonly key: string;
}

function* placesOf(value: JsonValue): Generator<Place> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield { holder: value as Record<string, JsonValue>, key };
    yield* placesOf(inner);
  }
}

function change({ holder, key }: Place, stranger: JsonValue | undefined): void {
  if (stranger !== undefined) holder[key] = stranger;
  else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else Reflect.deleteProperty(holder, key);
}
