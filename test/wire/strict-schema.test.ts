import { Ajv2020 } from "ajv/dist/2020.js";
import test from "ava";
import fc from "fast-check";
import type { JsonObject, JsonSchema, JsonValue } from "../../src/domain/json.ts";
import type { ToolDescriptor } from "../../src/domain/tool.ts";
import { dropNulls } from "../../src/registry/schema/null-as-absent.ts";
import { anthropic } from "../../src/wire/provider-formats/anthropic.ts";
import { openAiChat } from "../../src/wire/provider-formats/openai.ts";
import { registryOf } from "../execution/world.ts";

function descriptorOf(inputSchema: JsonSchema): ToolDescriptor {
  const [tool] = registryOf({ tool: { execute: () => "" } }).tools;
  if (!tool) throw new Error("the set is empty");
  return { ...tool.descriptor, inputSchema };
}

interface OpenAiFunction {
  readonly parameters: JsonSchema;
  readonly strict: boolean;
}

function openAi(schema: JsonSchema): OpenAiFunction {
  const tool = openAiChat.tool(descriptorOf(schema), "tool", true);
  return tool["function"] as unknown as OpenAiFunction;
}

const ajv = new Ajv2020({ strict: false, ownProperties: true, validateSchema: false });

function accepts(schema: JsonSchema, value: JsonValue): boolean {
  return ajv.validate(schema as object, value);
}

/** A schema of what strict mode can say, with values that it accepts. */
interface Shape {
  readonly schema: JsonObject;
  readonly values: fc.Arbitrary<JsonValue>;
}

const keys = ["a", "b", "c", "constructor", "toString"];

const { shape } = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Shape>(
      { schema: { type: "string" }, values: fc.string() },
      { schema: { type: "integer", minimum: 0 }, values: fc.nat() },
      { schema: { type: ["number", "null"] }, values: fc.option(fc.integer()) },
      { schema: { type: "boolean", description: "Whether" }, values: fc.boolean() },
      { schema: { enum: ["x", "y"] }, values: fc.constantFrom("x", "y") },
      { schema: { const: 3 }, values: fc.constant(3) },
    ),
    tie("shape").map((inner): Shape => ({
      schema: { type: "array", items: inner.schema },
      values: fc.array(inner.values, { maxLength: 3 }),
    })),
    fc
      .tuple(tie("shape"), tie("shape"), fc.constantFrom("anyOf", "oneOf"))
      .map(([left, right, key]): Shape => ({
        // The wrapping keeps the variants apart, so that oneOf means what anyOf does.
        schema: { [key]: [wrapped("left", left.schema), wrapped("right", right.schema)] },
        values: fc.oneof(
          left.values.map((value): JsonValue => ({ left: value })),
          right.values.map((value): JsonValue => ({ right: value })),
        ),
      })),
    objectOf(tie("shape")),
  ),
}));

function wrapped(key: string, schema: JsonObject): JsonObject {
  return { type: "object", properties: { [key]: schema }, required: [key] };
}

function objectOf(inner: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  const entry = fc.tuple(fc.constantFrom(...keys), inner, fc.boolean());
  return fc.uniqueArray(entry, { selector: ([key]) => key, maxLength: 4 }).map((entries): Shape => {
    const required = entries.filter(([, , isRequired]) => isRequired).map(([key]) => key);
    const properties = Object.fromEntries(entries.map(([key, { schema }]) => [key, schema]));
    const members = entries.map(([key, { values }, isRequired]) =>
      (isRequired ? values : fc.option(values, { nil: undefined })).map((value) => [key, value]),
    );
    return {
      schema: { type: "object", properties, required },
      values: fc
        .tuple(...members)
        .map((pairs) =>
          Object.fromEntries(
            pairs.filter(([, value]) => value !== undefined) as [string, JsonValue][],
          ),
        ),
    };
  });
}

const rootAndValue = objectOf(shape).chain(({ schema, values }) =>
  values.map((value) => ({ schema, value })),
);

/** Says null for every key that a strict schema requires and the value lacks. */
function withNulls(value: JsonValue, schema: JsonObject): JsonValue {
  const variants = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as JsonObject[]) : [schema];
  if (variants[0] !== schema) {
    for (const variant of variants) {
      const filled = withNulls(value, variant);
      if (accepts(variant, filled)) return filled;
    }
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item: JsonValue) => withNulls(item, schema["items"] as JsonObject));
  }
  if (typeof value !== "object" || value === null) return value;
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>);
  return Object.fromEntries(
    properties.map(([key, inner]) => {
      const held = Object.getOwnPropertyDescriptor(value, key)?.value as JsonValue | undefined;
      return [key, held === undefined ? null : withNulls(held, inner)];
    }),
  );
}

function copy(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

test("what a tool accepts, its strict form accepts with null for what is absent", (t) => {
  fc.assert(
    fc.property(rootAndValue, ({ schema, value }) => {
      t.true(accepts(schema, value));
      const { parameters, strict } = openAi(schema);
      t.true(strict, JSON.stringify(schema));
      const filled = withNulls(value, parameters);
      t.true(accepts(parameters, filled), JSON.stringify({ schema, value, parameters, filled }));
    }),
    { numRuns: 200 },
  );
  t.pass();
});

test("what a strict form accepts, the tool accepts, with null as absent", (t) => {
  const mutated = fc.tuple(rootAndValue, fc.nat(), fc.jsonValue({ maxDepth: 2 }));
  fc.assert(
    fc.property(mutated, ([{ schema, value }, at, other]) => {
      const { parameters } = openAi(schema);
      const filled = copy(withNulls(value, parameters)) as Record<string, JsonValue>;
      const names = Object.keys(filled);
      const name = names[at % Math.max(names.length, 1)];
      if (name !== undefined) {
        Object.defineProperty(filled, name, {
          value: other,
          enumerable: true,
          writable: true,
          configurable: true,
        });
      }
      if (!accepts(parameters, filled)) return;
      dropNulls(filled, schema);
      t.true(accepts(schema, filled), JSON.stringify({ schema, parameters, filled }));
    }),
    { numRuns: 200 },
  );
  t.pass();
});

test("every object of a strict schema is closed and requires all of its keys", (t) => {
  fc.assert(
    fc.property(objectOf(shape), ({ schema }) => {
      const visit = (node: unknown): void => {
        if (typeof node !== "object" || node === null) return;
        const { type, properties, required, additionalProperties } = node as JsonObject;
        if (type === "object") {
          t.is(additionalProperties, false);
          t.deepEqual(required, Object.keys(properties as JsonObject));
        }
        Object.values(node).forEach(visit);
      };
      visit(openAi(schema).parameters);
    }),
  );
  t.pass();
});

test("what strict mode does not know is told in the description", (t) => {
  const { parameters, strict } = openAi({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      name: { type: "string", description: "A name.", minLength: 2, default: "x" },
      mail: { type: "string", format: "email", pattern: "^.+@.+$" },
      site: { type: "string", format: "uri" },
      ahead: { type: "string", pattern: "^(?=x)" },
    },
    required: ["name", "mail", "site", "ahead"],
    not: { required: ["name", "mail"] },
  });
  t.true(strict);
  t.deepEqual(JSON.parse(JSON.stringify(parameters)), {
    type: "object",
    description: '(not: {"required":["name","mail"]})',
    properties: {
      name: { type: "string", description: 'A name. (minLength: 2; default: "x")' },
      mail: { type: "string", format: "email", pattern: "^.+@.+$" },
      site: { type: "string", description: '(format: "uri")' },
      ahead: { type: "string", description: '(pattern: "^(?=x)")' },
    },
    required: ["name", "mail", "site", "ahead"],
    additionalProperties: false,
  });
});

const loose: readonly (readonly [string, JsonObject])[] = [
  ["takes any key", { type: "object", properties: {}, additionalProperties: true }],
  ["takes keys of a pattern", { type: "object", properties: {}, patternProperties: { "^x": {} } }],
  ["is a map inside", { type: "object", properties: { map: { type: "object" } } }],
  ["has a property of any type", { type: "object", properties: { any: {} } }],
  [
    "has a tuple",
    { type: "object", properties: { pair: { type: "array", prefixItems: [{}, {}] } } },
  ],
  ["has a list of anything", { type: "object", properties: { list: { type: "array" } } }],
  [
    "is a union at the root",
    { type: "object", anyOf: [{ properties: { a: { type: "string" } } }] },
  ],
  [
    "refers outside itself",
    { type: "object", properties: { x: { $ref: "https://example.com/x" } } },
  ],
  ["requires an undeclared key", { type: "object", properties: {}, required: ["ghost"] }],
  [
    "speaks of undeclared keys in a condition",
    { type: "object", properties: {}, if: { required: ["a"] }, else: { required: ["b"] } },
  ],
  [
    "says more of keys beside alternatives",
    wrapped("x", {
      type: "object",
      required: ["a"],
      anyOf: [wrapped("a", { type: "string" }), wrapped("b", { type: "string" })],
    }),
  ],
  [
    "has two conjuncts that both say something",
    {
      type: "object",
      properties: { x: { type: "string", allOf: [{ type: "string", minLength: 1 }] } },
    },
  ],
];

for (const [title, schema] of loose) {
  test(`a schema that ${title} stays as it is, without strict`, (t) => {
    const { strict, parameters } = openAi(schema);
    t.false(strict);
    t.is(parameters["type"], "object");
    t.is("strict" in anthropic.tool(descriptorOf(schema), "tool", true), false);
  });
}

const tree: JsonSchema = {
  type: "object",
  properties: { root: { $ref: "#/definitions/node" } },
  required: ["root"],
  definitions: {
    node: {
      type: "object",
      properties: {
        label: { type: "string" },
        next: { $ref: "#/definitions/node", description: "The next one." },
      },
      required: ["label"],
    },
  },
};

test("a recursive schema is strict for OpenAI, and not for Anthropic, which takes none", (t) => {
  const { parameters, strict } = openAi(tree);
  t.true(strict);
  t.true(accepts(parameters, { root: { label: "x", next: { label: "y", next: null } } }));
  t.false(accepts(parameters, { root: { label: "x" } }));
  t.is("strict" in anthropic.tool(descriptorOf(tree), "tool", true), false);
});

test("Anthropic's strict form leaves optional keys optional", (t) => {
  const tool = anthropic.tool(
    descriptorOf({
      type: "object",
      properties: {
        q: { type: "string", minLength: 1 },
        limit: { type: "integer", maximum: 9, default: 5 },
        tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 },
      },
      required: ["q"],
    }),
    "tool",
    true,
  );
  t.deepEqual(JSON.parse(JSON.stringify(tool)), {
    name: "tool",
    input_schema: {
      type: "object",
      properties: {
        q: { type: "string", description: "(minLength: 1)" },
        limit: { type: "integer", default: 5, description: "(maximum: 9)" },
        tags: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "(maxItems: 3)",
        },
      },
      required: ["q"],
      additionalProperties: false,
    },
    strict: true,
  });
});

test("beyond what strict mode can hold, a schema stays as it is", (t) => {
  let deep: JsonObject = { type: "string" };
  for (let level = 0; level < 11; level += 1) deep = wrapped("in", deep);
  t.false(openAi(deep).strict);
  const values = Array.from({ length: 1001 }, (_, index) => `v${index}`);
  t.false(openAi(wrapped("pick", { enum: values })).strict);
});

test("digits beyond 2^53 stay in a schema", (t) => {
  const schema = wrapped("id", { type: "integer", maximum: 9223372036854775807n });
  const { parameters } = openAi(schema);
  t.is((parameters["properties"] as { id: JsonObject }).id["maximum"], 9223372036854775807n);
});
