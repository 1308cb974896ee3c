import test from "ava";
import { z } from "zod";
import * as zod3 from "zod/v3";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { ConfigurationError } from "../../src/errors.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import type { StandardSchema } from "../../src/registry/schema/standard-schema.ts";
import { advertised, call, echo } from "./world.ts";

const noArguments = { type: "object", properties: {} };

for (const parameters of [undefined, null, {}]) {
  test(`${JSON.stringify(parameters)} advertises an object without properties`, async (t) => {
    t.deepEqual(advertised(parameters), noArguments);
    t.like(await call(echo(parameters), "{}"), { value: {} });
  });
}

test("a refined, transformed or piped schema advertises its input side", (t) => {
  const plain = z.object({ text: z.string(), copies: z.number().default(1) });
  const expected = {
    type: "object",
    properties: { text: { type: "string" }, copies: { type: "number", default: 1 } },
    required: ["text"],
  };
  t.deepEqual(advertised(plain), expected);
  t.deepEqual(advertised(plain.refine(() => true)), expected);
  t.deepEqual(advertised(plain.superRefine(() => {})), expected);
  t.deepEqual(advertised(plain.transform(({ text }) => text).pipe(z.string())), expected);
  t.deepEqual(advertised(z.preprocess((value) => value, plain)), expected);
});

test("a sub-schema that is used twice is written out twice, each with its own description", (t) => {
  const point = z.object({ lat: z.number(), lon: z.number() });
  const schema = advertised(
    z.object({ start: point.describe("start"), end: point.describe("end") }),
  );
  const shape = {
    type: "object",
    properties: { lat: { type: "number" }, lon: { type: "number" } },
    required: ["lat", "lon"],
  };
  t.deepEqual(schema["properties"] as unknown, {
    start: { ...shape, description: "start" },
    end: { ...shape, description: "end" },
  });
});

test("zod 3 describes reuse in the same way", (t) => {
  const { z: z3 } = zod3;
  const point = z3.object({ lat: z3.number() });
  const schema = advertised(
    z3.object({ start: point.describe("start"), end: point.optional().describe("end") }),
  );
  const shape = { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] };
  t.deepEqual(schema, {
    type: "object",
    properties: {
      start: { ...shape, description: "start" },
      end: { ...shape, description: "end" },
    },
    required: ["start"],
  } as JsonObject);
});

test("a sub-schema with an id is written out, and only recursion refers to a definition", async (t) => {
  const unit = z.enum(["km", "mi"]).meta({ id: "registry-test-unit" });
  const node = z
    .object({
      name: z.string(),
      get children() {
        return z.array(node);
      },
    })
    .meta({ id: "registry-test-node" });
  const parameters = z.object({ allowed: z.array(unit), tree: node });
  const schema = advertised(parameters);
  t.deepEqual(refsIn(schema), ["#/$defs/registry-test-node", "#/$defs/registry-test-node"]);
  t.like(schema, { properties: { allowed: { items: { enum: ["km", "mi"] } } } });
  t.deepEqual(Object.keys(schema["$defs"] as object), ["registry-test-node"]);
  const leaf = '{"name":"b","children":[]}';
  t.like(await call(echo(parameters), `{"allowed":[],"tree":${leaf}}`), {
    value: { tree: { name: "b" } },
  });
  const refused = await call(
    echo(parameters),
    '{"allowed":[],"tree":{"name":"a","children":[{"name":1,"children":[]}]}}',
  );
  t.like(refused, { refused: "tree.children[0].name must be string, got 1" });
});

test("a root that refers to itself still advertises its properties", (t) => {
  const list = z.object({
    get next() {
      return list.optional();
    },
  });
  t.deepEqual(advertised(list), {
    type: "object",
    properties: { next: { $ref: "#" } },
  });
});

test("a union at the root keeps its variants and is an object", async (t) => {
  const parameters = z.discriminatedUnion("op", [
    z.object({ op: z.literal("add"), a: z.number() }),
    z.object({ op: z.literal("drop"), id: z.string() }),
  ]);
  const schema = advertised(parameters);
  t.is(schema["type"], "object");
  t.is((schema["oneOf"] as readonly JsonValue[]).length, 2);
  t.deepEqual(await call(echo(parameters), '{"op":"drop","id":"7"}'), {
    value: { op: "drop", id: "7" },
  });
  t.deepEqual(await call(echo(parameters), '{"op":"drop"}'), {
    refused: "id is missing: it must be string",
  });
  t.deepEqual(await call(echo(parameters), '{"op":"mend"}'), {
    refused: 'op must be one of "add", "drop", got "mend"',
  });
});

test("a date is a date-time string, and reaches the tool as a Date", async (t) => {
  const parameters = z.object({ since: z.date(), tag: z.string() });
  t.deepEqual(advertised(parameters)["properties"] as unknown, {
    since: { type: "string", format: "date-time" },
    tag: { type: "string" },
  });
  t.deepEqual(await call(echo(parameters), '{"since":"2031-02-03T00:00:00Z","tag":"t"}'), {
    value: { since: new Date("2031-02-03T00:00:00Z"), tag: "t" },
  });
  t.like(await call(echo(parameters), '{"since":"soon","tag":"t"}'), {
    refused: 'since must be a date-time such as 2031-02-03T04:05:06Z, got "soon"',
  });
});

test("in a union a text stays a text where only another branch asks for a date", async (t) => {
  const parameters = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("date"), at: z.date() }),
    z.object({ kind: z.literal("text"), at: z.string() }),
  ]);
  const at = "2031-02-03T00:00:00Z";
  t.deepEqual(await call(echo(parameters), `{"kind":"text","at":"${at}"}`), {
    value: { kind: "text", at },
  });
  t.deepEqual(await call(echo(parameters), `{"kind":"date","at":"${at}"}`), {
    value: { kind: "date", at: new Date(at) },
  });
});

test("a node that JSON Schema can't express is open, with a warning, and no tool is lost", async (t) => {
  const odd = echo(z.object({ seen: z.map(z.string(), z.string()), tag: z.string() }), "odd");
  const { tools, warnings } = buildRegistry({ tools: [echo(), odd] });
  t.is(tools.length, 2);
  t.like(tools[1]?.descriptor.inputSchema, { properties: { seen: {}, tag: { type: "string" } } });
  t.is(warnings.length, 1);
  t.regex(warnings[0] ?? "", /tool 'odd': seen is advertised as open/u);
  t.like(await call(odd, '{"seen":1,"tag":"t"}'), {
    refused: "seen: Invalid input: expected map, received number",
  });
});

test("a library that fails to describe its schema leaves an open object, and still decides", async (t) => {
  const schema = standard({
    validate: () => ({ issues: [{ message: "not today", path: [{ key: "day" }] }] }),
    jsonSchema: () => {
      throw new Error("no such word");
    },
  });
  const { tools, warnings } = buildRegistry({ tools: [echo(schema)] });
  t.deepEqual(tools[0]?.descriptor.inputSchema, noArguments);
  t.regex(warnings[0] ?? "", /no such word/u);
  t.deepEqual(await call(echo(schema), "{}"), { refused: "day: not today" });
});

test("a library that can't describe schemas at all is refused with what to do", (t) => {
  const schema = standard({ validate: (value) => ({ value }) });
  t.throws(() => buildRegistry({ tools: [echo(schema)] }), {
    instanceOf: ConfigurationError,
    message: /tools\[0\], the tool 'echo'.*acme.*pass a JSON Schema object/u,
  });
});

test("formats and patterns of a library mean what the library means by them", async (t) => {
  const parameters = z.object({
    at: z.iso.time(),
    local: z.iso.datetime({ local: true }),
    code: z.string().regex(/^[a-z]+$/i),
  });
  const args = { at: "12:30:00", local: "2031-02-03T04:05:06", code: "ABC" };
  t.deepEqual(await call(echo(parameters), JSON.stringify(args)), { value: args });
});

const url = {
  type: "object",
  properties: { url: { type: "string" } },
  required: ["url"],
};

for (const $schema of [
  undefined,
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "https://example.com/a-draft-of-our-own",
]) {
  test(`JSON Schema of ${$schema ?? "no stated draft"} is advertised as given and validates`, async (t) => {
    const parameters = $schema === undefined ? url : { $schema, ...url };
    t.deepEqual(advertised(parameters), parameters);
    t.deepEqual(await call(echo(parameters), '{"url":"x"}'), {
      value: Object.assign(Object.create(null), { url: "x" }),
    });
    t.deepEqual(await call(echo(parameters), "{}"), {
      refused: "url is missing: it must be string",
    });
  });
}

test("JSON Schema without a stated draft may be draft-07", async (t) => {
  const parameters = {
    type: "object",
    properties: { pair: { type: "array", items: [{ type: "string" }, { type: "number" }] } },
  };
  t.like(await call(echo(parameters), '{"pair":["a","b"]}'), {
    refused: 'pair[1] must be number, got "b"',
  });
});

test("a schema that can't be read, of a draft that isn't known, is let through with a warning", (t) => {
  const parameters = { $schema: "https://example.com/ours", properties: { a: { type: "tex" } } };
  const { warnings } = buildRegistry({ tools: [echo(parameters)] });
  t.regex(warnings[0] ?? "", /not checked.*\$schema/u);
});

test("two tools may use the same schema, and the same $id", (t) => {
  const schema = { $id: "https://example.com/s", ...url };
  const tools = [echo(schema, "a"), echo(schema, "b"), echo({ ...schema }, "c")];
  t.is(buildRegistry({ tools }).tools.length, 3);
});

for (const [title, parameters, reason] of [
  ["a root of another type", { type: "string" }, /type "string"/u],
  ["a number", 42, /are 42/u],
  ["an array", ["q"], /an array/u],
  ["a zod string", z.string(), /type "string"/u],
  ["a reference that leads nowhere", { properties: { a: { $ref: "#/$defs/b" } } }, /#\/\$defs\/b/u],
  ["a reference to another place", { properties: { a: { $ref: "https://x.test/s" } } }, /x\.test/u],
  ["a keyword that is misused", { properties: { a: { type: "tex" } } }, /no valid JSON Schema/u],
  ["a cycle", cyclic(), /contains itself/u],
  [
    "a bare shape",
    { text: z.string() },
    /"text" is a schema of zod in a plain object; make the whole/u,
  ],
  [
    "a library's schema among the properties",
    { type: "object", properties: { text: z.string() } },
    /"text" is a schema of zod in a plain object/u,
  ],
] as const) {
  test(`parameters that are ${title} are refused, naming the tool and the reason`, (t) => {
    const error = t.throws(() => advertised(parameters), { instanceOf: ConfigurationError });
    t.regex(error?.message ?? "", /tools\[0\], the tool 'echo'/u);
    t.regex(error?.message ?? "", reason);
  });
}

test("the advertised schema is a frozen copy", (t) => {
  const parameters = { type: "object", properties: { a: { type: "string" } } };
  const { tools } = buildRegistry({ tools: [echo(parameters)] });
  parameters.properties.a.type = "number";
  const schema = tools[0]?.descriptor.inputSchema as typeof parameters;
  t.is(schema.properties.a.type, "string");
  t.true(Object.isFrozen(schema.properties.a));
});

function standard(parts: {
  readonly validate: StandardSchema["~standard"]["validate"];
  readonly jsonSchema?: () => never;
}): StandardSchema {
  const { validate, jsonSchema } = parts;
  const describe = jsonSchema && { input: jsonSchema, output: jsonSchema };
  return { "~standard": { version: 1, vendor: "acme", validate, jsonSchema: describe } };
}

function cyclic(): object {
  const schema: Record<string, unknown> = { type: "object" };
  schema["properties"] = { again: schema };
  return schema;
}

function refsIn(node: JsonValue): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string" ? [value] : refsIn(value),
  );
}
