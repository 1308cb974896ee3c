import test from "ava";
import { firstLine, pythonRepr, splitLines, strip } from "../../src/internal/python-text.ts";

for (const [text, expected] of [
  ["add", "'add'"],
  ["it's", '"it\'s"'],
  ['say "it\'s"', "'say \"it\\'s\"'"],
  ['say "a"', "'say \"a\"'"],
  ["", "''"],
  ["a\\b", "'a\\\\b'"],
  ["a\n\r\tb", "'a\\n\\r\\tb'"],
  ["\0\u001b\u007f\u0085\u00a0", "'\\x00\\x1b\\x7f\\x85\\xa0'"],
  ["é失", "'é失'"],
  ["\u200b\u2028\ufeff\u3000", "'\\u200b\\u2028\\ufeff\\u3000'"],
  ["\ud800", "'\\ud800'"],
  ["😀\u{e0001}", "'😀\\U000e0001'"],
] as const) {
  test(`repr of ${JSON.stringify(text)} is ${expected}`, (t) => {
    t.is(pythonRepr(text), expected);
  });
}

test("lines break where Python's do, and a break at the end adds none", (t) => {
  t.deepEqual(splitLines("a\nb\r\nc\rd\ve\ff\u001cg\u001dh\u001ei\u0085j\u2028k\u2029l\n"), [
    ...Array.from("abcdefghijkl"),
  ]);
  t.deepEqual(splitLines(""), []);
  t.deepEqual(splitLines("\n\n"), ["", ""]);
});

test("stripping takes what Python takes", (t) => {
  t.is(strip("\u001c\u001f\u0085\u00a0\u3000\t a b \u2003\n"), "a b");
  t.is(strip("\ufeffa\u200b"), "\ufeffa\u200b");
});

test("the first line that is not blank is the summary", (t) => {
  t.is(firstLine("\n\n   Fetch a page.\n\nArgs: ..."), "Fetch a page.");
  t.is(firstLine("\r\n\tTabbed\r\nmore"), "Tabbed");
  t.is(firstLine("   "), "");
});
