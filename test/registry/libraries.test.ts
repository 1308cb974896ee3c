import { readFileSync } from "node:fs";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import test from "ava";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import type { JsonObject, JsonSchema } from "../../src/domain/json.ts";
import { readParameters } from "../../src/registry/schema/argument-schema.ts";

// One row of docs/schemas.md a library: what its schema says of each kind of value, what reaches the
// tool, and what is refused.

interface Row {
  /** As the table in the docs names it. */
  readonly library: string;
  readonly basics: unknown;
  /** Whether undeclared keys reach the tool. */
  readonly passesUnknownKeys: boolean;
  /** Whether the manifest shows the default. */
  readonly advertisesDefault: boolean;
  readonly date?: unknown;
  readonly bigint?: unknown;
  /** `{ text }` to its length. */
  readonly transform?: unknown;
  /** `{ low, high }` with low under high. */
  readonly refined?: unknown;
  /** `{ op: "add", a: number }` or `{ op: "drop", id: string }`. */
  readonly union: unknown;
  /** A node that JSON Schema has no word for, under `odd`. */
  readonly odd?: unknown;
}

const rows: readonly Row[] = [
  {
    library: "zod 4",
    passesUnknownKeys: false,
    advertisesDefault: true,
    basics: z.object({
      name: z.string().min(2).describe("who"),
      count: z.int().default(7),
      tags: z.array(z.enum(["a", "b"])).optional(),
    }),
    date: z.object({ at: z.date() }),
    bigint: z.object({ id: z.bigint() }),
    transform: z.object({ text: z.string().transform((text) => text.length) }),
    refined: z
      .object({ low: z.number(), high: z.number() })
      .refine(({ low, high }) => low < high, { error: "low is not under high" }),
    union: z.discriminatedUnion("op", [
      z.object({ op: z.literal("add"), a: z.number() }),
      z.object({ op: z.literal("drop"), id: z.string() }),
    ]),
    odd: z.object({ odd: z.map(z.string(), z.string()) }),
  },
  {
    library: "zod 3",
    passesUnknownKeys: false,
    advertisesDefault: true,
    basics: z3.object({
      name: z3.string().min(2).describe("who"),
      count: z3.number().int().default(7),
      tags: z3.array(z3.enum(["a", "b"])).optional(),
    }),
    date: z3.object({ at: z3.date() }),
    bigint: z3.object({ id: z3.bigint() }),
    transform: z3.object({ text: z3.string().transform((text) => text.length) }),
    refined: z3
      .object({ low: z3.number(), high: z3.number() })
      .refine(({ low, high }) => low < high, { message: "low is not under high" }),
    union: z3.discriminatedUnion("op", [
      z3.object({ op: z3.literal("add"), a: z3.number() }),
      z3.object({ op: z3.literal("drop"), id: z3.string() }),
    ]),
    odd: z3.object({ odd: z3.map(z3.string(), z3.string()) }),
  },
  {
    library: "valibot",
    passesUnknownKeys: false,
    advertisesDefault: true,
    basics: toStandardJsonSchema(
      v.object({
        name: v.pipe(v.string(), v.minLength(2), v.description("who")),
        count: v.optional(v.pipe(v.number(), v.integer()), 7),
        tags: v.optional(v.array(v.picklist(["a", "b"]))),
      }),
    ),
    date: toStandardJsonSchema(v.object({ at: v.date() })),
    bigint: toStandardJsonSchema(v.object({ id: v.bigint() })),
    transform: toStandardJsonSchema(
      v.object({
        text: v.pipe(
          v.string(),
          v.transform((text) => text.length),
        ),
      }),
    ),
    refined: toStandardJsonSchema(
      v.pipe(
        v.object({ low: v.number(), high: v.number() }),
        v.check(({ low, high }) => low < high, "low is not under high"),
      ),
    ),
    union: toStandardJsonSchema(
      v.variant("op", [
        v.object({ op: v.literal("add"), a: v.number() }),
        v.object({ op: v.literal("drop"), id: v.string() }),
      ]),
    ),
    odd: toStandardJsonSchema(v.object({ odd: v.map(v.string(), v.string()) })),
  },
  {
    library: "arktype",
    passesUnknownKeys: true,
    advertisesDefault: false,
    basics: type({
      name: type("string >= 2").describe("who"),
      count: "number.integer = 7",
      "tags?": "('a' | 'b')[]",
    }),
    date: type({ at: "Date" }),
    bigint: type({ id: "bigint" }),
    transform: type({ text: type("string").pipe((text) => text.length) }),
    refined: type({ low: "number", high: "number" }).narrow(
      ({ low, high }, context) => low < high || context.reject("low under high"),
    ),
    union: type({ op: "'add'", a: "number" }).or({ op: "'drop'", id: "string" }),
    odd: type({ odd: "Map" }),
  },
  {
    library: "TypeBox",
    passesUnknownKeys: true,
    advertisesDefault: true,
    basics: Type.Object({
      name: Type.String({ minLength: 2, description: "who" }),
      count: Type.Optional(Type.Integer({ default: 7 })),
      tags: Type.Optional(Type.Array(Type.Union([Type.Literal("a"), Type.Literal("b")]))),
    }),
    union: Type.Union([
      Type.Object({ op: Type.Literal("add"), a: Type.Number() }),
      Type.Object({ op: Type.Literal("drop"), id: Type.String() }),
    ]),
  },
  {
    library: "JSON Schema",
    passesUnknownKeys: true,
    advertisesDefault: true,
    basics: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 2, description: "who" },
        count: { type: "integer", default: 7 },
        tags: { type: "array", items: { enum: ["a", "b"] } },
      },
      required: ["name"],
    },
    union: {
      oneOf: [
        { properties: { op: { const: "add" }, a: { type: "number" } }, required: ["op", "a"] },
        { properties: { op: { const: "drop" }, id: { type: "string" } }, required: ["op", "id"] },
      ],
    },
  },
];

const check = (parameters: unknown, args: JsonObject) => readParameters(parameters).check(args);
const property = ({ properties }: JsonSchema, name: string): JsonObject =>
  (properties as Record<string, JsonObject>)[name] ?? {};

for (const row of rows) {
  const { library } = row;

  test(`${library}: types, bounds, docs and optionality are advertised and hold`, async (t) => {
    const { schema, warnings } = readParameters(row.basics);
    t.deepEqual(warnings, []);
    t.deepEqual(schema["required"], ["name"]);
    t.is(property(schema, "name")["minLength"], 2);
    t.is(property(schema, "count")["type"], "integer");
    t.is(property(schema, "count")["default"], row.advertisesDefault ? 7 : undefined);
    t.is(property(schema, "name")["description"], "who");
    t.like(await check(row.basics, { name: "ab", tags: ["a"] }), {
      ok: true,
      value: { name: "ab", count: 7, tags: ["a"] },
    });
    for (const bad of [
      {},
      { name: "a" },
      { name: "ab", count: 1.5 },
      { name: "ab", tags: ["c"] },
    ]) {
      t.false((await check(row.basics, bad)).ok);
    }
    t.false((await check(row.basics, { name: "ab", count: "3" })).ok, "nothing is coerced");
  });

  test(`${library}: undeclared keys are ${row.passesUnknownKeys ? "passed on" : "dropped"}`, async (t) => {
    t.not(readParameters(row.basics).schema["additionalProperties"], false);
    const checked = await check(row.basics, { name: "ab", extra: 1 });
    t.true(checked.ok);
    t.is("extra" in ((checked.ok ? checked.value : {}) as object), row.passesUnknownKeys);
  });

  test(`${library}: null for an optional key counts as absent`, async (t) => {
    const checked = await check(row.basics, { name: "ab", tags: null });
    t.true(checked.ok);
    t.false("tags" in ((checked.ok ? checked.value : { tags: 1 }) as object));
  });

  test(`${library}: a union keeps its variants under an object root`, async (t) => {
    const { schema } = readParameters(row.union);
    t.is(schema["type"], "object");
    t.regex(JSON.stringify(schema), /add.*drop|drop.*add/u);
    t.true((await check(row.union, { op: "drop", id: "7" })).ok);
    t.false((await check(row.union, { op: "drop" })).ok);
  });

  if (row.date !== undefined) {
    test(`${library}: a date is advertised as a date-time and arrives as a Date`, async (t) => {
      t.like(property(readParameters(row.date).schema, "at"), {
        type: "string",
        format: "date-time",
      });
      const checked = await check(row.date, { at: "2031-02-03T04:05:06Z" });
      const { at } = (checked.ok ? checked.value : {}) as { readonly at?: unknown };
      t.deepEqual(at, new Date("2031-02-03T04:05:06Z"));
      t.false((await check(row.date, { at: "soon" })).ok);
    });
  }

  if (row.bigint !== undefined) {
    test(`${library}: a bigint is advertised as an integer and arrives with every digit`, async (t) => {
      t.is(property(readParameters(row.bigint).schema, "id")["type"], "integer");
      t.like(await check(row.bigint, { id: 86420975310864213n }), {
        value: { id: 86420975310864213n },
      });
      t.like(await check(row.bigint, { id: 5 }), { value: { id: 5n } });
    });
  }

  if (row.transform !== undefined) {
    test(`${library}: a transform is advertised by its input, and its output reaches the tool`, async (t) => {
      t.is(property(readParameters(row.transform).schema, "text")["type"], "string");
      t.like(await check(row.transform, { text: "abc" }), { ok: true, value: { text: 3 } });
    });
  }

  if (row.refined !== undefined) {
    test(`${library}: a check of the author's own keeps the schema and holds`, async (t) => {
      t.is(property(readParameters(row.refined).schema, "low")["type"], "number");
      t.true((await check(row.refined, { low: 1, high: 2 })).ok);
      t.regex(
        JSON.stringify(await check(row.refined, { low: 2, high: 1 })),
        /low (?:is not )?under high/u,
      );
    });
  }

  if (row.odd !== undefined) {
    test(`${library}: a node without a JSON form is open, with a warning, and the library decides`, async (t) => {
      const { schema, warnings } = readParameters(row.odd);
      t.deepEqual(property(schema, "odd"), {});
      t.is(warnings.length, 1);
      t.regex(warnings[0] ?? "", /advertised as open/u);
      t.false((await check(row.odd, { odd: "no map" })).ok);
    });
  }
}

test("each library has its row in the docs, and each row its tests", (t) => {
  const docs = readFileSync(new URL("../../docs/schemas.md", import.meta.url), "utf8");
  const named = [...docs.matchAll(/^\| \*\*(.+?)\*\*/gmu)].map(([, name]) => name);
  t.deepEqual(
    named,
    rows.map(({ library }) => library),
  );
});
