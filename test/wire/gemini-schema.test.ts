import { Ajv2020 } from "ajv/dist/2020.js";
import test from "ava";
import fc from "fast-check";
import type { JsonObject, JsonSchema, JsonValue } from "../../src/domain/json.ts";
import type { ToolDescriptor } from "../../src/domain/tool.ts";
import { anthropic } from "../../src/wire/provider-formats/anthropic.ts";
import { gemini } from "../../src/wire/provider-formats/gemini.ts";
import { openAiChat } from "../../src/wire/provider-formats/openai.ts";
import { registryOf } from "../execution/world.ts";

function descriptorOf(inputSchema: JsonSchema): ToolDescriptor {
  const [tool] = registryOf({ tool: { execute: () => "" } }).tools;
  if (!tool) throw new Error("the set is empty");
  return { ...tool.descriptor, inputSchema };
}

function convert(schema: JsonSchema): JsonObject | undefined {
  const tool = gemini.tool(descriptorOf(schema), "x", false);
  const { parameters } = JSON.parse(JSON.stringify(tool)) as { parameters?: JsonObject };
  return parameters;
}

function property(schema: JsonValue, $defs: JsonObject = {}): JsonValue | undefined {
  const converted = convert({ type: "object", properties: { x: schema }, $defs }) ?? {};
  return (converted["properties"] as JsonObject)["x"];
}

const conversions: readonly (readonly [string, JsonValue, JsonValue])[] = [
  ["a constant", { const: "fast" }, { type: "STRING", enum: ["fast"] }],
  [
    "a number that is listed",
    { enum: [1, 2] },
    { type: "INTEGER", description: "(one of: [1,2])" },
  ],
  ["a listed null", { enum: ["a", null] }, { type: "STRING", enum: ["a"], nullable: true }],
  [
    "an empty text that is listed",
    { enum: [""] },
    { type: "STRING", description: '(one of: [""])' },
  ],
  ["null", { type: "null" }, { type: "NULL" }],
  ["null or a text", { type: ["string", "null"] }, { type: "STRING", nullable: true }],
  [
    "several types",
    { type: ["string", "integer", "null"], description: "Id." },
    {
      anyOf: [
        { type: "STRING", description: "Id.", nullable: true },
        { type: "INTEGER", description: "Id.", nullable: true },
      ],
    },
  ],
  [
    "alternatives, which take the description that may not stand beside them",
    { description: "Id.", oneOf: [{ type: "string" }, { type: "integer", description: "Old." }] },
    {
      anyOf: [
        { type: "STRING", description: "Id." },
        { type: "INTEGER", description: "Id. Old." },
      ],
    },
  ],
  [
    "alternatives that leave their type to the whole",
    { type: "object", oneOf: [{ properties: { a: { type: "string" } } }, { required: ["b"] }] },
    { anyOf: [{ type: "OBJECT", properties: { a: { type: "STRING" } } }, { type: "OBJECT" }] },
  ],
  [
    "formats and bounds that it does not know",
    { type: "string", format: "uri", minLength: 1 },
    { type: "STRING", minLength: 1, description: '(format: "uri")' },
  ],
  [
    "a map",
    { type: "object", additionalProperties: { type: "string" } },
    { type: "OBJECT", description: '(additionalProperties: {"type":"string"})' },
  ],
  [
    "a tuple",
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
    { type: "ARRAY", items: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] }, maxItems: 2 },
  ],
  [
    "a required key that is not declared",
    { type: "object", properties: { a: { type: "string" } }, required: ["a", "ghost"] },
    { type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["a"] },
  ],
];

for (const [title, from, to] of conversions) {
  test(`Gemini is told of ${title}`, (t) => {
    t.deepEqual(property(from), to);
  });
}

test("references are written out for Gemini, and a recursive one ends", (t) => {
  const node: JsonObject = {
    type: "object",
    properties: { label: { type: "string" }, next: { $ref: "#/$defs/node" } },
    required: ["label"],
  };
  t.deepEqual(property({ $ref: "#/$defs/node", description: "First." }, { node }), {
    type: "OBJECT",
    description: "First.",
    properties: {
      label: { type: "STRING" },
      next: { type: "OBJECT", description: "(any node again)" },
    },
    required: ["label"],
  });
});

test("conjuncts are one object for Gemini", (t) => {
  const base: JsonObject = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
  };
  const more: JsonObject = { properties: { b: { type: "number" } }, required: ["b"] };
  t.deepEqual(property({ allOf: [{ $ref: "#/$defs/base" }, more] }, { base }), {
    type: "OBJECT",
    properties: { a: { type: "STRING" }, b: { type: "NUMBER" } },
    required: ["a", "b"],
  });
});

test("references that grow without bound end for Gemini", (t) => {
  const $defs: Record<string, JsonObject> = {};
  for (let level = 0; level < 20; level += 1) {
    const inner = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { type: "object", properties: { a: inner, b: inner } };
  }
  $defs["d20"] = { type: "string" };
  const text = JSON.stringify(property({ $ref: "#/$defs/d0" }, $defs));
  t.true(text.length < 1_000_000);
});

const { schema: exotic } = fc.letrec<{ schema: JsonValue }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.record(
      {
        type: fc.constantFrom("string", "integer", "object", "array", "null", ["string", "null"]),
        enum: fc.constant(["a", 1, null, true]),
        const: fc.constantFrom(1, "x", null),
        format: fc.constantFrom("date-time", "uri", "int64"),
        minimum: fc.integer(),
        exclusiveMinimum: fc.integer(),
        description: fc.string(),
        default: fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<JsonValue>,
        $ref: fc.constantFrom("#", "#/$defs/a", "#/nowhere"),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")),
        required: fc.subarray(["a", "b", "ghost"]),
        additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
        anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ["type"] },
    ),
    fc.record({ type: fc.constant("array"), items: tie("schema") }, { requiredKeys: ["type"] }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.boolean(),
  ),
}));

/** The fields of Gemini's Schema message that are used, as a schema. */
const geminiMessage = {
  $ref: "#/$defs/schema",
  $defs: {
    schema: {
      type: "object",
      properties: {
        type: { enum: ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"] },
        format: { enum: ["date-time", "float", "double", "int32", "int64"] },
        title: { type: "string" },
        description: { type: "string", minLength: 1 },
        nullable: { type: "boolean" },
        enum: { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
        items: { $ref: "#/$defs/schema" },
        minItems: { type: "number" },
        maxItems: { type: "number" },
        properties: {
          type: "object",
          minProperties: 1,
          additionalProperties: { $ref: "#/$defs/schema" },
        },
        required: { type: "array", minItems: 1, items: { type: "string" } },
        minProperties: { type: "number" },
        maxProperties: { type: "number" },
        minLength: { type: "number" },
        maxLength: { type: "number" },
        pattern: { type: "string" },
        minimum: { type: "number" },
        maximum: { type: "number" },
        anyOf: { type: "array", minItems: 2, items: { $ref: "#/$defs/schema" } },
      },
      additionalProperties: false,
      oneOf: [{ required: ["type"] }, { required: ["anyOf"], maxProperties: 1 }],
      anyOf: [
        { required: ["items"] },
        { not: { properties: { type: { const: "ARRAY" } }, required: ["type"] } },
      ],
    },
  },
};

test("whatever the schema, what Gemini is given is a Schema message of its own", (t) => {
  const isMessage = new Ajv2020({ strict: false }).compile(geminiMessage);
  const root = fc.record({
    type: fc.constant("object"),
    properties: fc.dictionary(fc.constantFrom("x", "y", "__proto__"), exotic),
    $defs: fc.record({ a: exotic }),
  });
  const requiresOnlyItsOwn = (node: JsonValue): boolean => {
    if (typeof node !== "object" || node === null) return true;
    const { required = [], properties = {} } = node as JsonObject;
    const names = Object.keys(properties as JsonObject);
    return (
      (Array.isArray(node) || (required as string[]).every((name) => names.includes(name))) &&
      Object.values(node as JsonObject).every(requiresOnlyItsOwn)
    );
  };
  fc.assert(
    fc.property(root, (schema) => {
      const converted = convert(schema);
      if (!converted) return;
      t.true(isMessage(converted), JSON.stringify([converted, isMessage.errors]));
      t.true(
        Object.values((converted["properties"] as JsonObject) ?? {}).every(requiresOnlyItsOwn),
      );
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test("whatever the schema, the other forms are objects at their roots", (t) => {
  const root = exotic.filter((schema) => typeof schema === "object") as fc.Arbitrary<JsonObject>;
  fc.assert(
    fc.property(root, fc.boolean(), (schema, isStrict) => {
      const { function: openAi } = openAiChat.tool(descriptorOf(schema), "x", isStrict);
      const { input_schema: forClaude } = anthropic.tool(descriptorOf(schema), "x", isStrict);
      for (const made of [(openAi as JsonObject)["parameters"], forClaude]) {
        const { type, properties, ...others } = made as JsonObject;
        t.is(type, "object");
        t.is(typeof properties, "object");
        for (const key of ["anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"]) {
          t.false(Object.hasOwn(others, key), key);
        }
      }
    }),
    { numRuns: 300 },
  );
  t.pass();
});
