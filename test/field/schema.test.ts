import test from "ava";
import { z } from "zod";
import * as z3 from "zod/v3";
import type { JsonSchema } from "../../src/domain/json.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { type Schema, serveField } from "./world.ts";

const label = z.object({ text: z.string(), copies: z.number().int().default(1) });

const wrappings: readonly (readonly [string, z.ZodType])[] = [
  [
    "superRefine",
    label.superRefine(({ copies }, context) => {
      if (copies > 9) context.addIssue({ code: "custom", path: ["copies"], message: "max 9" });
    }),
  ],
  ["refine", label.refine(({ copies }) => copies <= 9, { path: ["copies"], message: "max 9" })],
  [
    "transform",
    label
      .refine(({ copies }) => copies <= 9, { path: ["copies"], message: "max 9" })
      .transform(({ text, copies }) => text.repeat(copies)),
  ],
  [
    "pipe",
    label
      .refine(({ copies }) => copies <= 9, { path: ["copies"], message: "max 9" })
      .pipe(z.object({ text: z.string(), copies: z.number() })),
  ],
];

for (const [title, parameters] of wrappings) {
  test(`B01 a schema within ${title} is listed whole, and what it refuses does not run`, async (t) => {
    let ran = 0;
    const execute = (): string => `ran ${(ran += 1)}`;
    const tools = [
      defineTool({ name: "print_label", description: "Print labels", parameters, execute }),
    ];
    const { call, schemaOf } = await serveField(t, { tools });
    const schema = await schemaOf("print_label");
    t.is(schema.type, "object");
    t.deepEqual(Object.keys(schema.properties ?? {}), ["text", "copies"]);
    const refused = await call("print_label", '{"text":"a","copies":20}');
    t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.regex(refused.error ?? "", /copies.*max 9/u);
    t.is(ran, 0);
    t.is((await call("print_label", '{"text":"a"}')).result, "ran 1");
  });
}

function refsOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : refsOf(inner),
  );
}

const unit = z.enum(["km", "mi"]);
const unit3 = z3.z.enum(["km", "mi"]);

for (const [version, parameters] of [
  ["zod 4", z.object({ from: z.object({ unit: unit.nullish() }), allowed: z.array(unit) })],
  [
    "zod 3",
    z3.z.object({ from: z3.z.object({ unit: unit3.nullish() }), allowed: z3.z.array(unit3) }),
  ],
] as const) {
  test(`B02 a sub-schema of ${version} that is used twice refers to nothing outside its document`, async (t) => {
    const tools = [
      defineTool({ name: "convert", description: "Convert", parameters, execute: () => "" }),
    ];
    const { schemaOf } = await serveField(t, { tools });
    const schema = await schemaOf("convert");
    t.deepEqual(refsOf(schema), []);
    t.deepEqual(schema.properties?.["allowed"]?.items?.enum, ["km", "mi"]);
  });
}

const point = z.object({ lat: z.number(), lon: z.number() });
const point3 = z3.z.object({ lat: z3.z.number(), lon: z3.z.number() });

for (const [version, parameters] of [
  ["zod 4", z.object({ start: point.describe("start"), end: point.describe("end") })],
  ["zod 3", z3.z.object({ start: point3.describe("start"), end: point3.describe("end") })],
] as const) {
  test(`B03 an instance of ${version} that is used twice is described in full, twice`, async (t) => {
    const tools = [
      defineTool({ name: "route", description: "Route", parameters, execute: () => "" }),
    ];
    const { schemaOf } = await serveField(t, { tools });
    const { properties = {} } = await schemaOf("route");
    t.deepEqual(refsOf(properties), []);
    for (const name of ["start", "end"]) {
      const { type, description, properties: inner }: Schema = properties[name] ?? {};
      t.is(type, "object");
      t.is(description, name);
      t.deepEqual(Object.keys(inner ?? {}), ["lat", "lon"]);
    }
  });
}

test("B04 a union at the root keeps its variants and is an object", async (t) => {
  const tools = [
    defineTool({
      name: "edit",
      description: "Edit",
      parameters: z.discriminatedUnion("op", [
        z.object({ op: z.literal("add"), a: z.number() }),
        z.object({ op: z.literal("drop"), id: z.string() }),
      ]),
      execute: (args) => args.op,
    }),
  ];
  const { call, schemaOf } = await serveField(t, { tools });
  const schema = await schemaOf("edit");
  t.is(schema.type, "object");
  const variants = (schema["oneOf"] ?? schema["anyOf"]) as readonly Schema[];
  t.deepEqual(
    variants.map(({ properties }) => Object.keys(properties ?? {})),
    [
      ["op", "a"],
      ["op", "id"],
    ],
  );
  t.is((await call("edit", '{"op":"drop","id":"7"}')).result, "drop");
  const refused = await call("edit", '{"op":"drop"}');
  t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(refused.error ?? "", /\bid\b/u);
});

const drafts = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "https://example.com/a-draft-of-our-own",
  undefined,
];

for (const $schema of drafts) {
  test(`B11 a tool whose schema is of ${$schema ?? "no stated draft"} can be called`, async (t) => {
    const parameters = {
      ...($schema === undefined ? {} : { $schema }),
      type: "object",
      properties: { url: { type: "string" } },
      required: ["url"],
    };
    const tools = [
      defineTool({ name: "fetch", description: "Fetch", parameters, execute: () => "fetched" }),
    ];
    const { call } = await serveField(t, { tools });
    t.is((await call("fetch", '{"url":"x"}')).result, "fetched");
    const refused = await call("fetch", "{}");
    t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.regex(refused.error ?? "", /\burl\b/u);
  });
}

test("B12 the schema that is listed is the one that validates, conditions and all", async (t) => {
  const parameters = JSON.parse(`{
    "type": "object",
    "properties": { "mode": { "const": "fast" }, "n": { "type": "integer", "minimum": 1 } },
    "required": ["mode", "n"],
    "allOf": [
      {
        "if": { "properties": { "mode": { "const": "fast" } } },
        "then": { "properties": { "n": { "maximum": 5 } } }
      }
    ]
  }`) as JsonSchema;
  const tools = [defineTool({ name: "go", description: "Go", parameters, execute: () => "went" })];
  const { call, schemaOf } = await serveField(t, { tools });
  t.deepEqual(await schemaOf("go"), parameters as unknown as Schema);
  t.is((await call("go", '{"mode":"fast","n":5}')).result, "went");
  const refused = await call("go", '{"mode":"fast","n":50}');
  t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(refused.error ?? "", /\bn\b/u);
});

for (const [title, given] of [
  ["no parameters", {}],
  ["null for parameters", { parameters: null }],
  ["an empty schema", { parameters: {} }],
] as const) {
  test(`B13 a capability's tool with ${title} is listed as an object without properties, and runs`, async (t) => {
    const status = { name: "status", description: "State", execute: () => "ok", ...given };
    const { call, client, schemaOf } = await serveField(t, {
      capabilities: [{ name: "ops", tools: [status] }],
    });
    t.deepEqual(await schemaOf("status"), { type: "object", properties: {} });
    t.is((await call("status", "{}")).result, "ok");
    t.is((await client.execute({ name: "status", argumentsJson: "" }).result).result, "ok");
  });
}
