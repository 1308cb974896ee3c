import { readFileSync } from "node:fs";
import test from "ava";
import fc from "fast-check";
import type { Data } from "../../../src/conformance/cases.ts";
import { compare } from "../../../src/conformance/match.ts";
import { fill } from "../../../src/conformance/values.ts";

interface Row {
  readonly expected: Data;
  /** Each has a value, or none for one that is absent. */
  readonly matches: readonly { readonly value?: Data }[];
  readonly differs: readonly { readonly value?: Data }[];
}

// The runners of other languages read it too.
const table = JSON.parse(
  readFileSync(new URL("matching.json", import.meta.url), "utf8"),
) as readonly Row[];

for (const { expected, matches, differs } of table) {
  test(`${JSON.stringify(expected)} matches what it says and nothing else`, (t) => {
    for (const { value } of matches) t.deepEqual(compare(value, expected, new Map()), []);
    for (const { value } of differs) {
      t.not(compare(value, expected, new Map()).length, 0, JSON.stringify(value));
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
