import test from "ava";
import fc from "fast-check";
import type { Data } from "../../../src/conformance/cases.ts";
import { compare } from "../../../src/conformance/match.ts";
import { fill } from "../../../src/conformance/values.ts";

const status = (code: number, ...details: readonly object[]): Data => ({
  code,
  message: "a sentence",
  details: details as unknown as readonly Data[],
});
const info = (reason: string, more: object = {}): object => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "toolport",
  metadata: { started: "no" },
  ...more,
});
const retry = {
  "@type": "type.googleapis.com/google.rpc.RetryInfo",
  retryDelay: "0.250s",
};
const overloaded = { code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" };

/** What is expected, what matches it, and what does not; undefined is an absent value. */
const table: readonly (readonly [
  Data,
  readonly (Data | undefined)[],
  readonly (Data | undefined)[],
])[] = [
  [null, [undefined], ["", 0, false, [], {}]],
  ["", [""], [undefined, "a"]],
  [1, [1], ["1", 2, undefined]],
  [true, [true], [undefined, false]],
  [[1, 2], [[1, 2]], [[1], [1, 2, 3], [2, 1], undefined]],
  [{ a: 1 }, [{ a: 1 }, { a: 1, b: 2 }], [{}, { a: 2 }, undefined, [1]]],
  [{ a: null }, [{}, { b: 1 }, undefined], [{ a: "" }]],
  [{ $any: true }, ["", 0, {}], [undefined]],
  [{ $matches: "^a.c$" }, ["abc"], ["abcd", 1, undefined]],
  [{ $contains: "b" }, ["abc"], ["ac", undefined]],
  [{ $contains: ["a", "c"] }, ["abc"], ["ab"]],
  [
    { $json: { a: [1, null] } },
    ['{ "a": [1, null] }'],
    ['{"a":[1]}', "{", undefined, '{"a":[1,null],"b":1}'],
  ],
  [{ $range: [0, 2] }, [0, 2, undefined], [-1, 3, "1"]],
  [{ $range: [1, null] }, [1, 9e9], [undefined, 0]],
  [{ $size: 4 }, ["🌍", [1, 2, 3, 4]], ["🌍🌍", [1], undefined]],
  [{ $includes: [{ a: 1 }] }, [[{ a: 1, b: 2 }, 3]], [[], [{ a: 2 }], undefined]],
  [{ $exactly: { a: 1 } }, [{ a: 1 }], [{ a: 1, b: 2 }, {}, undefined]],
  [{ $exactly: {} }, [{}, undefined], [{ a: 1 }]],
  [{ $all: [{ $contains: "a" }, { $contains: "b" }] }, ["ab"], ["a", "b"]],
  [
    { $fault: overloaded },
    [status(8, info("OVERLOADED"))],
    [
      undefined,
      status(8),
      status(9, info("OVERLOADED")),
      status(8, info("MESSAGE_TOO_LARGE")),
      status(8, info("OVERLOADED"), info("OVERLOADED")),
      status(8, info("OVERLOADED", { domain: "elsewhere" })),
      status(8, info("OVERLOADED", { metadata: {} })),
      { code: 8, details: [info("OVERLOADED")] } as unknown as Data,
    ],
  ],
  [
    { $fault: { code: "RESOURCE_EXHAUSTED" } },
    [status(8, info("OVERLOADED"))],
    [status(8, info("DRAINING"))],
  ],
  [
    { $fault: { ...overloaded, retryInfo: true } },
    [status(8, info("OVERLOADED"), retry)],
    [status(8, info("OVERLOADED")), status(8, info("OVERLOADED"), { ...retry, retryDelay: "0s" })],
  ],
  [
    { $fault: { ...overloaded, started: "no", message: { $contains: "sentence" } } },
    [status(8, info("OVERLOADED"))],
    [status(8, info("OVERLOADED", { metadata: { started: "yes" } }))],
  ],
  [{ $fault: { code: "CANCELLED", local: true } }, [status(1)], [status(4), undefined]],
];

for (const [expected, matching, others] of table) {
  test(`${JSON.stringify(expected)} matches what it says and nothing else`, (t) => {
    for (const actual of matching) t.deepEqual(compare(actual, expected, new Map()), []);
    for (const actual of others) {
      t.not(compare(actual, expected, new Map()).length, 0, JSON.stringify(actual));
    }
  });
}

test("what is captured stands for itself from then on", (t) => {
  const captured = new Map<string, string>();
  t.deepEqual(compare({ id: "q1" }, { id: { $capture: "q" } }, captured), []);
  t.deepEqual(fill({ id: "{{q}}-{{q}}" }, captured), { id: "q1-q1" });
  t.throws(() => fill("{{nothing}}", captured), { message: /\{\{nothing\}\}/u });
});

test("repeated and joined texts are made where they stand", (t) => {
  const text = { $concat: ["<", { $repeat: ["é", 3] }, "{{run}}"] };
  t.is(fill(text, new Map([["run", ">"]])), "<ééé>");
});

test("a matcher that does not exist is an error, not a match", (t) => {
  t.throws(() => compare("x", { $mtaches: "x" }, new Map()), { message: /\$mtaches/u });
});

test("every value matches itself, and a difference names its path", (t) => {
  fc.assert(
    fc.property(
      fc.jsonValue().filter((value) => !/null|\$|\{\{/u.test(JSON.stringify(value))),
      (value) => {
        t.deepEqual(compare(value as Data, value as Data, new Map()), []);
      },
    ),
  );
  t.regex(compare({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, new Map())[0] ?? "", /^a\[0\]\.b is 1/u);
});
