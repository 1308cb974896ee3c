import { DynamicTool, tool as langChainTool } from "@langchain/core/tools";
import test from "ava";
import { z } from "zod";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { serveField } from "./world.ts";

const echo = (name: string, parameters?: object | null): ReturnType<typeof defineTool> =>
  defineTool({
    name,
    description: "Gives its arguments back.",
    parameters: parameters as never,
    execute: (args: unknown) => args,
  });

test("B20 blank, absent and null arguments are an empty object, and broken ones an outcome", async (t) => {
  const tools = [echo("free"), echo("strict", z.object({ q: z.string() }))];
  const { call } = await serveField(t, { tools });
  for (const blank of ["", "  \n\t", "null"]) {
    t.is((await call("free", blank)).result, "{}", JSON.stringify(blank));
    const refused = await call("strict", blank);
    t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.regex(refused.error ?? "", /\bq\b/u);
    t.is(refused.argumentsJson, blank);
  }
  const broken = await call("strict", '{"q":');
  t.is(broken.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(broken.error ?? "", /^InvalidArguments: /u);
});

for (const [form, parameters] of [
  ["zod", z.object({ from: z.string().optional(), name: z.string(), note: z.string().nullable() })],
  [
    "JSON Schema",
    {
      type: "object",
      properties: {
        from: { type: "string" },
        name: { type: "string" },
        note: { type: ["string", "null"] },
      },
      required: ["name", "note"],
    },
  ],
] as const) {
  test(`B21 null for an optional parameter is absent (${form})`, async (t) => {
    const { call } = await serveField(t, { tools: [echo("save", parameters)] });
    const first = await call("save", '{"from":null,"name":"n","note":null}');
    t.deepEqual(JSON.parse(first.result ?? "{}"), { name: "n", note: null });
    const second = await call("save", '{"from":null,"name":null,"note":null}');
    t.is(second.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.regex(second.error ?? "", /\bname\b/u);
    t.notRegex(second.error ?? "", /\bfrom\b|\bnote\b/u);
  });
}

test("B22 a text that looks like JSON reaches the tool as it is", async (t) => {
  const { call } = await serveField(t, {
    tools: [
      echo("zod", z.object({ body: z.string() })),
      echo("json", { type: "object", properties: { body: { type: "string" } } }),
    ],
  });
  for (const body of ['{"k": [1,2]}', "[]", "true", "null"]) {
    for (const name of ["zod", "json"]) {
      const { result } = await call(name, JSON.stringify({ body }));
      t.deepEqual(JSON.parse(result ?? ""), { body });
    }
  }
});

test("B23 a text of digits alone stays a text, whatever the form of the tool", async (t) => {
  const code = { type: "object", properties: { code: { type: "string" } }, required: ["code"] };
  const { call } = await serveField(t, {
    tools: [
      echo("zod", z.object({ code: z.string() })),
      echo("json", code),
      langChainTool((args: { code: string }) => JSON.stringify(args), {
        name: "langchain",
        description: "Find",
        schema: z.object({ code: z.string() }),
      }),
    ],
  });
  for (const text of ['{"code":"00731"}', '{"code":"1e5"}']) {
    for (const name of ["zod", "json", "langchain"]) {
      const answer = await call(name, text);
      t.is(answer.result, text);
      t.is(answer.argumentsJson, text);
    }
  }
});

test("B24 where the manifest closes an object an unknown key is refused, and only there", async (t) => {
  const filter = { unread: z.boolean().optional() };
  const { call, schemaOf } = await serveField(t, {
    tools: [
      echo(
        "open",
        z.object({ limit: z.number().default(10), filter: z.object(filter).optional() }),
      ),
      echo(
        "closed",
        z.strictObject({
          limit: z.number().default(10),
          filter: z.strictObject(filter).optional(),
        }),
      ),
    ],
  });
  const typo = '{"limitt":3,"filter":{"unreadd":true}}';
  t.false("additionalProperties" in (await schemaOf("open")));
  t.deepEqual(JSON.parse((await call("open", typo)).result ?? ""), { limit: 10, filter: {} });

  const schema = await schemaOf("closed");
  t.is(schema["additionalProperties"], false);
  t.is(schema.properties?.["filter"]?.["additionalProperties"], false);
  const refused = await call("closed", typo);
  t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(refused.error ?? "", /limitt/u);
  t.regex(refused.error ?? "", /unreadd/u);
});

test("B25 free keys that a schema allows reach the tool", async (t) => {
  const open = { type: "object", properties: { kind: { type: "string" } } };
  const { call } = await serveField(t, {
    tools: [
      echo("typed", { ...open, additionalProperties: { type: "string" } }),
      echo("any", { ...open, additionalProperties: true }),
      echo("silent", open),
    ],
  });
  for (const name of ["typed", "any", "silent"]) {
    const text = '{"kind":"svc","owner":"team-a"}';
    t.is((await call(name, text)).result, text);
  }
  t.is((await call("any", '{"owner":5}')).result, '{"owner":5}');
  t.is((await call("silent", '{"owner":5}')).result, '{"owner":5}');
  const refused = await call("typed", '{"owner":5}');
  t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(refused.error ?? "", /owner/u);
});

test("B27 a tool of one string is advertised as an object with it, and never gets undefined", async (t) => {
  const lookup = new DynamicTool({
    name: "lookup",
    description: "d",
    func: async (s: string) => await Promise.resolve(`got ${s}`),
  });
  const { call, schemaOf } = await serveField(t, { tools: [lookup] });
  const schema = await schemaOf("lookup");
  t.is(schema.type, "object");
  t.deepEqual(schema.properties, { input: { type: "string" } });
  t.is((await call("lookup", '{"input":"abc"}')).result, "got abc");
  for (const wrong of ["{}", '{"query":"abc"}']) {
    const refused = await call("lookup", wrong);
    t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS);
    t.is(refused.result, undefined);
    t.regex(refused.error ?? "", /input/u);
  }
});
