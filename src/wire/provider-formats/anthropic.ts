import type { JsonValue } from "../../domain/json.ts";
import { at, draft, isObject, listAt } from "./json-schema.ts";
import { plainRoot } from "./plain-root.ts";
import { jsonList, type ProviderFormat, said } from "./provider-format.ts";
import { type StrictRules, strictSchema } from "./strict-schema.ts";

const formats: ReadonlySet<JsonValue> = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
]);

const strictRules: StrictRules = {
  isAllRequired: false,
  isRecursionAllowed: false,
  keeps: (key, value) => {
    if (key === "format") return formats.has(value);
    if (key === "minItems") return value === 0 || value === 1;
    return key === "default";
  },
  most: {
    depth: 16,
    properties: 1000,
    enumValues: 1000,
    shortEnumValues: 250,
    longEnumCharacters: 15_000,
    characters: 120_000,
  },
};

/** Anthropic's messages. */
export const anthropic: ProviderFormat = {
  names: {
    allowed: /^[a-zA-Z0-9_-]+$/u,
    character: /^[a-zA-Z0-9_-]$/u,
    maxLength: 64,
  },
  tool(descriptor, name, isStrict) {
    const { schema, isUnion } = plainRoot(descriptor.inputSchema);
    const strict = isStrict && !isUnion ? strictSchema(schema, strictRules) : null;
    return {
      name,
      ...said(descriptor.description),
      input_schema: strict ?? modern(schema),
      ...(strict === null ? {} : { strict: true }),
    };
  },
  list: jsonList,
  forceTool: (name) => ({ type: "tool", name }),
  general: (choice) => ({ type: choice }),
};

/** Schemas within a schema: one, a list of them, or one by each name. */
const within = {
  one: ["additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"],
  list: ["allOf", "anyOf", "oneOf", "prefixItems"],
  named: ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
} as const;

/** Draft 2020-12, the only one that is taken: a tuple's items are its `prefixItems`. */
function modern(schema: JsonValue): JsonValue {
  if (!isObject(schema)) return schema;
  const result = draft(schema);
  for (const key of within.one)
    if (isObject(at(schema, key))) result[key] = modern(at(schema, key) as JsonValue);
  for (const key of within.list) {
    if (Array.isArray(at(schema, key))) result[key] = listAt(schema, key).map(modern);
  }
  for (const key of within.named) {
    const named = at(schema, key);
    if (!isObject(named)) continue;
    const renewed = draft();
    for (const [name, inner] of Object.entries(named)) renewed[name] = modern(inner);
    result[key] = renewed;
  }
  if (Array.isArray(at(schema, "items"))) {
    result["prefixItems"] = listAt(schema, "items").map(modern);
    delete result["items"];
    const rest = at(schema, "additionalItems");
    if (rest !== undefined) result["items"] = modern(rest);
    delete result["additionalItems"];
  }
  return result;
}
