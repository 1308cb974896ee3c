import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import test from "ava";
import fc from "fast-check";

import { readToolArguments, requireJsonObject } from "../../src/cli/tool-arguments.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { stringifyJson } from "../../src/internal/json-text.ts";

const folder = mkdtempSync(join(tmpdir(), "toolport-test-"));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "list.json"), "[1, 2]");
writeFileSync(join(folder, "text.txt"), "from a file\n");

const schema: JsonObject = {
  type: "object",
  properties: {
    code: { type: "string" },
    n: { type: "number" },
    big: { type: "integer" },
    on: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    counts: { type: "array", items: { type: "integer" } },
    user: { $ref: "#/$defs/user" },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    either: { type: ["string", "number"] },
    level: { enum: ["1", "2"] },
    "dotted.key": { type: "string" },
    open: {},
  },
  $defs: {
    user: { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } } },
  },
};

const row = test.macro({
  exec(t, words: string, expected: string) {
    t.is(stringifyJson(readToolArguments(words.split(" "), schema)), expected);
  },
  title: (_given, words: string) => `${words} is typed by the schema`,
});

test(row, "code=007", '{"code":"007"}');
test(row, "code=true", '{"code":"true"}');
test(row, "code=", '{"code":""}');
test(row, "code=a=b", '{"code":"a=b"}');
test(row, "n=3", '{"n":3}');
test(row, "n=1e3", '{"n":1000}');
test(row, "n=three", '{"n":"three"}');
test(row, "big=9007199254740993", '{"big":9007199254740993}');
test(row, "on=false", '{"on":false}');
test(row, "tags=a,b", '{"tags":["a","b"]}');
test(row, "tags=a tags=b", '{"tags":["a","b"]}');
test(row, 'tags=["a,b"]', '{"tags":["a,b"]}');
test(row, "counts=1,2", '{"counts":[1,2]}');
test(row, "counts=1", '{"counts":[1]}');
test(row, "user.name=7 user.age=7", '{"user":{"name":"7","age":7}}');
test(row, "maybe=null", '{"maybe":null}');
test(row, "maybe=5", '{"maybe":5}');
test(row, "either=5", '{"either":5}');
test(row, "either=five", '{"either":"five"}');
test(row, "level=1", '{"level":"1"}');
test(row, "dotted.key=1", '{"dotted.key":"1"}');
test(row, "open=1", '{"open":1}');
test(row, "open=text", '{"open":"text"}');
test(row, "unknown.deep=1", '{"unknown":{"deep":1}}');
test(row, "un\\.known=1", '{"un.known":1}');
test(row, 'code:={"a":[1]}', '{"code":{"a":[1]}}');
test(row, "code=@@home", '{"code":"@home"}');
test(row, "__proto__=1", '{"__proto__":1}');
test(row, "user.__proto__.x=1", '{"user":{"__proto__":{"x":1}}}');

test("a value can come from a file, as text or as JSON", (t) => {
  const args = readToolArguments(
    [`counts=@${join(folder, "list.json")}`, `code=@${join(folder, "text.txt")}`],
    schema,
  );
  t.is(stringifyJson(args), '{"counts":[1,2],"code":"from a file\\n"}');
});

const refused = test.macro({
  exec(t, words: string, expected: RegExp) {
    t.throws(() => readToolArguments(words.split(" "), schema), {
      code: "CONFIGURATION",
      message: expected,
    });
  },
  title: (_given, words: string) => `${words} is refused with a reason`,
});

test(refused, "word", /"word" is of no known form: expected key=value/);
test(refused, "=1", /of no known form/);
test(refused, "n=1 n=2", /the argument n is given twice/);
test(refused, "user=1 user.name=a", /user\.name has a value and parts at once/);
test(refused, "open:={", /the argument open is not JSON/);
test(refused, "open=@/no/such/file", /cannot read \/no\/such\/file \(ENOENT\)/);

test("any text of a string argument arrives as it was typed", (t) => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.startsWith("@"));
      t.is(readToolArguments([`code=${text}`], schema)["code"], text);
    }),
  );
});

test("any JSON given by := arrives unchanged", (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes("__proto__"));
      const got = readToolArguments([`code:=${text}`], schema)["code"] as JsonValue;
      t.is(stringifyJson(got), text);
    }),
  );
});

test("arguments as JSON must be one object", (t) => {
  t.is(requireJsonObject("it", ' {"a":1} '), '{"a":1}');
  t.throws(() => requireJsonObject("the value", "[1]"), { message: /is not a JSON object/ });
  t.throws(() => requireJsonObject("the value", '{"a":'), { message: /^the value is not JSON: / });
});
