import test, { type ExecutionContext } from "ava";
import { ErrorKind } from "../../src/wire/v1.ts";
import { loadSource, type LoadedSource } from "../functions/lib/source.ts";
import { type Field, type Schema, serveField } from "./world.ts";

async function serveSource(
  t: ExecutionContext,
  source: string,
  names: readonly string[],
  beside: Readonly<Record<string, string>> = {},
): Promise<Field & { readonly loaded: LoadedSource }> {
  const loaded = await loadSource(t, source, names, { beside });
  const { tools } = loaded.definition;
  return { ...(await serveField(t, { tools })), loaded };
}

/** A part of a schema, its `$ref` followed. */
function follow(root: Schema, part: Schema | undefined): Schema {
  const ref = part?.["$ref"];
  if (typeof ref !== "string") return part ?? {};
  const definitions = root["$defs"] as Readonly<Record<string, Schema>>;
  return follow(root, definitions[ref.slice("#/$defs/".length)]);
}

test("B06 the picked properties of a circular type have their own types", async (t) => {
  const source = `
type Team = { id: number; members: Member[] };
type Card = Pick<Team, "id" | "members">;
type Member = { card: Card };
/** Show a card */
export function showCard(card: Card): number { return card.members.length; }`;
  const { schemaOf, call } = await serveSource(t, source, ["showCard"]);
  const schema = await schemaOf("showCard");
  t.deepEqual(Object.keys(schema.properties ?? {}), ["card"]);
  const card = follow(schema, schema.properties?.["card"]);
  t.is(card.properties?.["id"]?.type, "number");
  t.is(card.properties?.["members"]?.type, "array");
  const member = follow(schema, card.properties?.["members"]?.items);
  const inner = follow(schema, member.properties?.["card"]);
  t.deepEqual(Object.keys(inner.properties ?? {}), ["id", "members"]);
  const within = '{"card":{"id":1,"members":[{"card":{"id":2,"members":[]}}]}}';
  t.is((await call("showCard", within)).result, "1");
  const wrong = await call("showCard", within.replace('"id":2', '"id":"2"'));
  t.is(wrong.errorKind, ErrorKind.INVALID_ARGUMENTS);
});

test("B08 types that index into each other are read through", async (t) => {
  const source = `
type A = { name: string; other: B["name"] };
export type B = { name: string; back: A["name"] };
/** Link */
export function link(b: B): string { return b.back; }`;
  const { schemaOf } = await serveSource(t, source, ["link"]);
  const { properties } = follow(await schemaOf("link"), (await schemaOf("link")).properties?.["b"]);
  t.like(properties, { name: { type: "string" }, back: { type: "string" } });
});

test("B08 a type that is its own index is refused with file, line, symbol and type", async (t) => {
  const source = `
type A = { name: B["back"] };
type B = { back: A["name"] };
/** Link */
export function link(b: B): void { void b; }`;
  const { port } = await loadSource(t, source, ["link"]);
  t.throws(port, {
    code: "CONFIGURATION",
    message: /tools\.ts:\d+: b\.back of link has the type any, /u,
  });
});

test("B09 a destructured parameter gives its members, those with defaults optional", async (t) => {
  const source = `
/** Ship a parcel. */
export async function shipParcel({ weight, insured = false, note = "" }: {
  weight: number; insured?: boolean; note?: string;
}): Promise<string> { return JSON.stringify({ weight, insured, note }); }
/** Add */
export function f(a: number, b = 3): number { return a + b; }`;
  const { schemaOf, call } = await serveSource(t, source, ["shipParcel", "f"]);
  const parcel = await schemaOf("shipParcel");
  t.deepEqual(Object.keys(parcel.properties ?? {}), ["weight", "insured", "note"]);
  t.deepEqual(parcel.required, ["weight"]);
  const shipped = await call("shipParcel", '{"weight":2}');
  t.is(shipped.result, '{"weight":2,"insured":false,"note":""}');
  const sum = await schemaOf("f");
  t.deepEqual(sum.required, ["a"]);
  t.is(sum.properties?.["b"]?.type, "number");
  t.is((await call("f", '{"a":1}')).result, "4");
});

const sku = `/** Stock code @pattern ^[A-Z]{3}-[0-9]{4}$ */
export type Sku = string;`;

for (const [where, head, beside] of [
  ["local", sku, {}],
  ["imported", 'import type { Sku } from "./types.ts";', { "types.ts": sku }],
] as const) {
  test(`B10 what is said of a ${where} type goes with it, also where it may be null`, async (t) => {
    const source = `${head}
/** Reserve stock */
export function reserve(sku: Sku, alt: Sku | null): string { return \`\${sku} \${alt}\`; }`;
    const { schemaOf, call } = await serveSource(t, source, ["reserve"], beside);
    const { properties } = await schemaOf("reserve");
    const pattern = "^[A-Z]{3}-[0-9]{4}$";
    t.deepEqual(properties?.["sku"], { type: "string", pattern, description: "Stock code" });
    t.is(properties?.["alt"]?.description, "Stock code");
    t.true(JSON.stringify(properties?.["alt"]).includes(JSON.stringify(pattern)));
    t.is((await call("reserve", '{"sku":"ABC-1234","alt":null}')).result, "ABC-1234 null");
    for (const wrong of ['{"sku":"abc","alt":null}', '{"sku":"ABC-1234","alt":"abc"}']) {
      t.is((await call("reserve", wrong)).errorKind, ErrorKind.INVALID_ARGUMENTS);
    }
  });
}

test("B23 a text of digits alone stays a text in a plain function", async (t) => {
  const source = `
/** Find an order */
export function findOrder(code: string): string { return code; }`;
  const { call } = await serveSource(t, source, ["findOrder"]);
  for (const code of ["00731", "1e5"]) {
    const text = JSON.stringify({ code });
    const answer = await call("findOrder", text);
    t.is(answer.result, code);
    t.is(answer.argumentsJson, text);
  }
});

test("B34 a bigint is advertised as an integer or digits, and is a bigint with all its digits", async (t) => {
  const source = `
/** Pay */
export function pay(amount: bigint, memo?: string): string {
  return \`\${typeof amount} \${amount} \${memo ?? "-"}\`;
}`;
  const { schemaOf, call } = await serveSource(t, source, ["pay"]);
  const schema = await schemaOf("pay");
  t.deepEqual(schema.properties?.["amount"], {
    anyOf: [
      { type: "integer", format: "int64" },
      { type: "string", pattern: "^-?[0-9]+$" },
    ],
  });
  t.deepEqual(schema.required, ["amount"]);
  for (const [given, expected] of [
    ['"90071992547409931"', "bigint 90071992547409931 -"],
    ["90071992547409931", "bigint 90071992547409931 -"],
    ["5", "bigint 5 -"],
  ] as const) {
    t.is((await call("pay", `{"amount":${given}}`)).result, expected);
  }
  const wrong = await call("pay", '{"amount":"five"}');
  t.is(wrong.errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.regex(wrong.error ?? "", /amount/u);
});

test("B56 each yield of a plain function is output, and the last is the result too", async (t) => {
  const source = `
/** Yields */
export async function* gen(): AsyncGenerator<{ s: string; n?: number }> {
  yield { s: "start" };
  yield { s: "half" };
  yield { s: "done", n: 3 };
}
/** Returns what yields */
export function iterable(): AsyncIterable<{ s: string; n?: number }> {
  return { [Symbol.asyncIterator]: gen };
}`;
  const { client } = await serveSource(t, source, ["gen", "iterable"]);
  for (const name of ["gen", "iterable"]) {
    const outputs: string[] = [];
    let result: string | undefined;
    for await (const event of client.execute({ name, argumentsJson: "{}" })) {
      if (event.case === "output") outputs.push(event.value.output.value as string);
      if (event.case === "call") result = event.value.result;
    }
    t.deepEqual(outputs, ['{"s":"start"}', '{"s":"half"}', '{"s":"done","n":3}'], name);
    t.is(result, '{"s":"done","n":3}', name);
  }
});
