import test from "ava";
import { z } from "zod";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { clientOf, protocols } from "../server/world.ts";
import { serveField } from "./world.ts";

const returning = (name: string, make: () => unknown): ReturnType<typeof defineTool> =>
  defineTool({ name, description: name, execute: make });

test("B29 a long integer reaches the tool with every digit, or not at all", async (t) => {
  const digits = "86420975310864213";
  let ran = 0;
  const echo = (name: string, parameters: object): ReturnType<typeof defineTool> =>
    defineTool({
      name,
      description: name,
      parameters: parameters as never,
      execute: ({ id }: { id: unknown }) => {
        ran += 1;
        return String(id);
      },
    });
  const json = (id: object): object => ({ type: "object", properties: { id }, required: ["id"] });
  const { call } = await serveField(t, {
    tools: [
      echo("number", z.object({ id: z.number().int() })),
      echo("integer", json({ type: "integer" })),
      echo("int64", json({ type: "integer", format: "int64" })),
      echo("bigint", z.object({ id: z.bigint() })),
      echo("text", z.object({ id: z.string() })),
    ],
  });
  for (const name of ["number", "integer"]) {
    const refused = await call(name, `{"id": ${digits}}`);
    t.is(refused.errorKind, ErrorKind.INVALID_ARGUMENTS, name);
    t.regex(refused.error ?? "", /\bid\b/u);
  }
  t.is(ran, 0);
  for (const name of ["int64", "bigint"]) {
    const answer = await call(name, `{"id": ${digits}}`);
    t.is(answer.result, digits, answer.error);
    t.is(answer.argumentsJson, `{"id": ${digits}}`);
  }
  t.is((await call("text", `{"id": "${digits}"}`)).result, digits);
});

test("B33 bigints in a result are written as digits", async (t) => {
  const { call } = await serveField(t, {
    tools: [
      returning("object", () => ({ block: 12n, list: [1n] })),
      returning("top", () => 5n),
      returning("large", () => [2n ** 70n]),
    ],
  });
  t.is((await call("object")).result, '{"block":12,"list":[1]}');
  t.is((await call("top")).result, "5");
  t.is((await call("large")).result, "[1180591620717411303424]");
});

for (const protocol of protocols) {
  test(`B35 the duration is a finite double over ${protocol}, and 0 only where nothing ran`, async (t) => {
    const field = await serveField(t, { tools: [returning("quick", () => "")] });
    const client = clientOf(field, protocol);
    for await (const { event } of client.execute({ request: { callId: "1", name: "quick" } })) {
      if (event.case !== "call") continue;
      t.true(Number.isFinite(event.value.durationMs));
      t.true(event.value.durationMs > 0);
    }
    const { call } = await client.refuse({ request: { callId: "2", name: "quick" } });
    t.is(call?.durationMs, 0);
  });
}

test("B36 a result is always a text, and a falsy one is not missing", async (t) => {
  const values: readonly (readonly [string, unknown, string])[] = [
    ["nothing", undefined, "null"],
    ["null", null, "null"],
    ["empty", "", ""],
    ["zero", 0, "0"],
    ["no", false, "false"],
    ["list", [], "[]"],
    ["function", () => 1, "null"],
  ];
  const { call } = await serveField(t, {
    tools: values.map(([name, value]) => returning(name, async () => await Promise.resolve(value))),
  });
  for (const [name, , text] of values) {
    const answer = await call(name);
    t.is(answer.result, text, name);
    t.is(answer.error, undefined);
    t.is(answer.errorKind, ErrorKind.UNSPECIFIED);
  }
});

test("B37 a result that has no JSON form says which tool's and why, and the next call runs", async (t) => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const { client, call } = await serveField(t, {
    tools: [
      returning("cycle", () => cycle),
      returning("to_json", () => ({
        toJSON() {
          throw new Error("no form");
        },
      })),
      returning("getter", () => ({
        get value(): never {
          throw new Error("no value");
        },
      })),
      returning("fine", () => "fine"),
    ],
  });
  for (const name of ["cycle", "to_json", "getter"]) {
    const answer = await client.execute({ name, callId: `id-${name}` }).result;
    t.is(answer.id, `id-${name}`);
    t.is(answer.errorKind, ErrorKind.RESULT_UNSERIALIZABLE);
    t.true(answer.error?.includes(`"${name}" has no JSON form`), answer.error);
    t.true(answer.durationMs > 0);
    t.is((await call("fine")).result, "fine");
  }
});

test("what JSON would write as {} though it holds something is no result, and is told with its place", async (t) => {
  const lost = new Map([["a", 1]]);
  const values: readonly (readonly [string, unknown, string])[] = [
    ["map", lost, "it is a Map"],
    ["set", { ids: new Set([1n]), n: 2n }, "ids is a Set"],
    ["deep", { rows: [{}, { "by name": lost }] }, 'rows[1]["by name"] is a Map'],
    ["settled", [{ status: "rejected", reason: new Error("lost") }], "[0].reason is an error"],
    ["late", { data: Promise.resolve(1) }, "data is a promise"],
    ["buffer", { bytes: new ArrayBuffer(2) }, "bytes is an ArrayBuffer"],
    ["entries", { all: lost.entries() }, "all is an iterator"],
  ];
  const { call } = await serveField(t, {
    tools: [
      ...values.map(([name, value]) => returning(name, () => value)),
      returning("fine", () => ({ empty: {}, at: new Date(0), own: { toJSON: () => ({}) } })),
      returning("own", () => Object.assign(new Map(), { toJSON: () => ({}) })),
    ],
  });
  for (const [name, , place] of values) {
    const answer = await call(name);
    t.is(answer.errorKind, ErrorKind.RESULT_UNSERIALIZABLE, name);
    t.true(
      answer.error?.includes(`"${name}" has no JSON form (TypeError: ${place}, which JSON`),
      answer.error,
    );
  }
  t.is((await call("fine")).result, '{"empty":{},"at":"1970-01-01T00:00:00.000Z","own":{}}');
  t.is((await call("own")).result, "{}");
});

for (const [title, make] of [
  ["a Buffer", (bytes: Uint8Array) => Buffer.from(bytes)],
  ["a Uint8Array", (bytes: Uint8Array) => bytes],
] as const) {
  test(`B41 the bytes of ${title} travel as content beside a line that stands for them`, async (t) => {
    const bytes = new Uint8Array(300_000).fill(7);
    bytes.set([0x89, 0x50, 0x4e, 0x47]);
    const { call } = await serveField(t, { tools: [returning("shot", () => make(bytes))] });
    const answer = await call("shot");
    t.is(answer.result, "[image/png, 300000 bytes]");
    t.is(answer.content.length, 1);
    const [part] = answer.content;
    t.is(part?.mimeType, "image/png");
    t.true(part?.source.case === "data" && Buffer.from(part.source.value).equals(bytes));
  });
}

test("B45 an error that fails while it is told is still told, by its class", async (t) => {
  class Rude extends Error {
    override readonly name = "Rude";
    override get message(): string {
      throw new Error("not even that");
    }
  }
  const withObject = new RangeError();
  Object.defineProperty(withObject, "message", { value: { code: 7 } });
  const cyclic = new TypeError("round");
  cyclic.cause = cyclic;
  const both = new AggregateError([new Error("one"), new SyntaxError("two")], "both");
  const failures = [
    ["rude", new Rude(), /^Rude: /u],
    ["object", withObject, /^RangeError: .*7/u],
    ["cyclic", cyclic, /^TypeError: round$/u],
    ["aggregate", both, /^AggregateError: both.*one.*SyntaxError: two/u],
  ] as const;
  const { client } = await serveField(t, {
    tools: failures.map(([name, error]) =>
      returning(name, () => {
        throw error;
      }),
    ),
  });
  for (const [name, , text] of failures) {
    const events: string[] = [];
    for await (const event of client.execute({ name })) {
      events.push(event.case);
      if (event.case !== "call") continue;
      t.is(event.value.errorKind, ErrorKind.RAISED);
      t.regex(event.value.error ?? "", text);
      t.notRegex(event.value.error ?? "", /\n\s+at |\.ts:/u);
    }
    t.deepEqual(events, ["call"]);
  }
});
