import test from "ava";
import fc from "fast-check";
import { z } from "zod";
import type { JsonObject } from "../../src/domain/json.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { advertised, call, echo } from "./world.ts";

/** A value as a tool without a library gets it: no object has a prototype. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value)) copy[key] = bare(inner);
  return copy;
}

test("a refinement of the author's refuses, and the tool does not run", async (t) => {
  const parameters = z
    .object({ text: z.string(), copies: z.int().default(1) })
    .superRefine(({ copies }, refinement) => {
      if (copies > 9) {
        refinement.addIssue({ code: "custom", path: ["copies"], message: "max 9" });
      }
    });
  t.deepEqual(await call(echo(parameters), '{"text":"a","copies":20}'), {
    refused: "copies: max 9",
  });
  t.deepEqual(await call(echo(parameters), '{"text":"a"}'), { value: { text: "a", copies: 1 } });
});

test("an asynchronous refinement is waited for", async (t) => {
  const parameters = z.object({ id: z.string().refine(async (id) => id !== "gone", "is gone") });
  t.deepEqual(await call(echo(parameters), '{"id":"gone"}'), { refused: "id: is gone" });
  t.deepEqual(await call(echo(parameters), '{"id":"here"}'), { value: { id: "here" } });
});

test("a transform that throws refuses the arguments", async (t) => {
  const parameters = z.object({
    a: z.string().transform(() => {
      throw new RangeError("out of range");
    }),
  });
  t.like(await call(echo(parameters), '{"a":"x"}'), {
    refused: "the schema could not check the arguments: RangeError: out of range",
  });
});

test("the library's output reaches the tool", async (t) => {
  const parameters = z.object({ n: z.string().transform(Number) });
  t.deepEqual(await call(echo(parameters), '{"n":"7"}'), { value: { n: 7 } });
});

test("every finding names its path and what was expected there", async (t) => {
  const parameters = {
    type: "object",
    properties: {
      n: { type: "integer", maximum: 9 },
      tags: { type: "array", items: { type: "string" } },
      mode: { enum: ["fast", "slow"] },
      "odd key": { type: "boolean" },
    },
    required: ["q"],
    additionalProperties: false,
  };
  const args = { n: 20, tags: ["a", 1], mode: "x", "odd key": 0, extra: 1 };
  t.deepEqual(await call(echo(parameters), JSON.stringify(args)), {
    refused:
      "q is missing; extra is not a known argument; n must be <= 9, got 20; " +
      'tags[1] must be string, got 1; mode must be one of "fast", "slow", got "x"; ' +
      '["odd key"] must be boolean, got 0',
  });
});

for (const [title, parameters] of [
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
  test(`null for an optional key that takes no null is absent (${title})`, async (t) => {
    const called = await call(echo(parameters), '{"from":null,"name":"n","note":null}');
    t.deepEqual(bare(called), bare({ value: { name: "n", note: null } }));
    t.deepEqual(await call(echo(parameters), '{"from":null,"name":null,"note":null}'), {
      refused: "name must be string, got null",
    });
  });
}

test("null is absent at any depth, and then takes the default", async (t) => {
  const parameters = {
    type: "object",
    properties: {
      list: { type: "array", items: { $ref: "#/$defs/item" } },
      any: {},
    },
    $defs: {
      item: {
        type: "object",
        properties: { limit: { type: "integer", default: 10 }, q: { type: "string" } },
      },
    },
  };
  const text = '{"list":[{"limit":null,"q":null}],"any":null,"free":null}';
  t.deepEqual(await call(echo(parameters), text), {
    value: bare({ list: [{ limit: 10 }], any: null, free: null }),
  });
});

test("null is absent in the variant that the value is meant for", async (t) => {
  const parameters = z.discriminatedUnion("op", [
    z.object({ op: z.literal("add"), note: z.string() }),
    z.object({ op: z.literal("drop"), note: z.string().optional() }),
  ]);
  t.deepEqual(await call(echo(parameters), '{"op":"drop","note":null}'), { value: { op: "drop" } });
  t.deepEqual(await call(echo(parameters), '{"op":"add","note":null}'), {
    refused: "note must be string, got null",
  });
});

test("nothing is coerced: not digits, not text that looks like JSON, not 1 for true", async (t) => {
  const text = echo({ type: "object", properties: { s: { type: "string" } } });
  for (const s of ["00731", "1e5", '{"k": [1,2]}', "[]", "true", "null", ""]) {
    t.deepEqual(await call(text, JSON.stringify({ s })), { value: bare({ s }) });
  }
  const number = echo(z.object({ n: z.int() }));
  for (const n of ["3", true, 1.5, null, [1]]) {
    t.true("refused" in (await call(number, JSON.stringify({ n }))));
  }
  t.deepEqual(await call(number, '{"n":1.0}'), { value: { n: 1 } });
});

test("a library's schema drops undeclared keys and does not claim to refuse them", async (t) => {
  const parameters = z.object({ q: z.string(), filter: z.object({ a: z.string() }).optional() });
  t.false(JSON.stringify(advertised(parameters)).includes("additionalProperties"));
  t.deepEqual(await call(echo(parameters), '{"q":"x","extra":1,"filter":{"a":"b","c":1}}'), {
    value: { q: "x", filter: { a: "b" } },
  });
});

test("a strict schema says so and refuses undeclared keys by name, nested ones too", async (t) => {
  const parameters = z.strictObject({ filter: z.strictObject({ unread: z.boolean().optional() }) });
  t.is(advertised(parameters)["additionalProperties"], false);
  t.deepEqual(await call(echo(parameters), '{"limitt":3,"filter":{"unreadd":true}}'), {
    refused: "limitt is not a known argument; filter.unreadd is not a known argument",
  });
});

test("JSON Schema passes undeclared keys unless it says otherwise", async (t) => {
  const kind = { type: "object", properties: { kind: { type: "string" } } };
  const typed = { ...kind, additionalProperties: { type: "string" } };
  for (const parameters of [kind, { ...kind, additionalProperties: true }, typed]) {
    t.deepEqual(await call(echo(parameters), '{"kind":"svc","owner":"team-a"}'), {
      value: bare({ kind: "svc", owner: "team-a" }),
    });
  }
  t.deepEqual(await call(echo(typed), '{"owner":5}'), {
    refused: "owner must be string, got 5",
  });
});

test("an integer beyond 2^53 never runs with other digits", async (t) => {
  const plain = { type: "object", properties: { id: { type: "integer" }, any: {} } };
  for (const parameters of [plain, z.object({ id: z.number() }), z.looseObject({})]) {
    const called = await call(echo(parameters), '{"id":86420975310864213}');
    t.true("refused" in called && called.refused.startsWith("id is 86420975310864213, outside"));
  }
  t.like(await call(echo(plain), '{"any":[{"deep":-9007199254740993}]}'), {
    refused:
      "any[0].deep is -9007199254740993, outside the safe integer range (-2^53 to 2^53): its schema takes no wider integer",
  });
});

test("an integer of format int64 reaches the tool exactly, as a bigint beyond 2^53", async (t) => {
  const parameters = {
    type: "object",
    properties: {
      id: { type: "integer", format: "int64", minimum: 0 },
      ids: { type: "array", items: { type: ["integer", "null"], format: "uint64" } },
    },
  };
  t.deepEqual(await call(echo(parameters), '{"id":86420975310864213,"ids":[null,7]}'), {
    value: bare({ id: 86420975310864213n, ids: [null, 7] }),
  });
  t.deepEqual(await call(echo(parameters), '{"ids":[18446744073709551615]}'), {
    value: bare({ ids: [18446744073709551615n] }),
  });
  for (const text of [
    '{"id":9223372036854775808}',
    '{"id":-9007199254740993}',
    '{"ids":[18446744073709551616]}',
  ]) {
    const called = await call(echo(parameters), text);
    t.true("refused" in called && called.refused.includes("must be an integer of format "), text);
  }
});

test("bounds, choices and defaults beyond 2^53 hold with every digit", async (t) => {
  const id = { type: "integer", format: "int64" };
  const parameters = {
    type: "object",
    properties: {
      bound: { ...id, maximum: 86420975310864213n },
      choice: { ...id, enum: [86420975310864213n, 1] },
      left: { ...id, default: 86420975310864213n },
      plain: { type: "integer", minimum: -9223372036854775808n },
    },
  };
  t.like(advertised(parameters), { properties: { left: { default: 86420975310864213n } } });
  t.deepEqual(
    await call(
      echo(parameters),
      '{"bound":86420975310864213,"choice":86420975310864213,"plain":1}',
    ),
    {
      value: bare({
        bound: 86420975310864213n,
        choice: 86420975310864213n,
        plain: 1,
        left: 86420975310864213n,
      }),
    },
  );
  for (const [text, expected] of [
    ['{"bound":86420975310864214}', "maximum 86420975310864213"],
    ['{"bound":9e18}', "must be <= 86420975310864213"],
    ['{"choice":86420975310864214}', "of 86420975310864213, 1"],
    ['{"choice":2}', "one of 86420975310864213, 1"],
  ] as const) {
    const called = await call(echo(parameters), text);
    t.true("refused" in called && called.refused.includes(expected), JSON.stringify(called));
  }
});

test("a big integer of a library reaches the tool as the library says", async (t) => {
  const parameters = z.object({ amount: z.bigint(), id: z.int64().optional() });
  t.like(advertised(parameters), {
    properties: {
      amount: { type: "integer", format: "bigint" },
      id: { type: "integer", format: "int64" },
    },
  });
  t.deepEqual(await call(echo(parameters), '{"amount":5,"id":9223372036854775807}'), {
    value: { amount: 5n, id: 9223372036854775807n },
  });
  t.deepEqual(await call(echo(parameters), '{"amount":123456789012345678901234567890}'), {
    value: { amount: 123456789012345678901234567890n },
  });
  t.deepEqual(await call(echo(parameters), '{"amount":"5"}'), {
    refused: 'amount must be integer, got "5"',
  });
});

test("keys of the object prototype are only keys", async (t) => {
  const parameters = {
    type: "object",
    properties: JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    ) as object,
    required: ["__proto__", "constructor"],
    additionalProperties: false,
  };
  const called = await call(echo(parameters), '{"__proto__":"a","constructor":"b"}');
  t.is(JSON.stringify(called), '{"value":{"__proto__":"a","constructor":"b"}}');
  t.like(await call(echo(parameters), '{"__proto__":1,"constructor":"b"}'), {
    refused: "__proto__ must be string, got 1",
  });
  const missing = await call(echo(parameters), "{}");
  t.true("refused" in missing && missing.refused.includes("constructor is missing"));
  t.is(({} as { a?: string }).a, undefined);
});

test("arguments cannot alter prototypes", async (t) => {
  const called = await call(echo({ type: "object" }), '{"__proto__":{"polluted":true},"a":{}}');
  t.is(({} as { polluted?: boolean }).polluted, undefined);
  t.is((called as { value: { polluted?: boolean } }).value.polluted, undefined);
});

test("without a library a tool gets what was sent, in a copy of its own", async (t) => {
  const built = buildRegistry({ tools: [echo({ type: "object" })] }).tools[0];
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (args) => {
      const before = JSON.stringify(args);
      const check = await built?.check(args as JsonObject);
      if (!check?.ok) return false;
      const same = JSON.stringify(check.value) === before;
      mutateAll(check.value);
      return same && JSON.stringify(args) === before;
    }),
  );
  t.pass();
});

function mutateAll(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) mutateAll(inner);
  if (Array.isArray(value)) value.push("mutated");
  else (value as Record<string, unknown>)["mutated"] = true;
}
