import test from "ava";
import fc from "fast-check";
import type { ManifestEntry } from "../../src/domain/manifest-text.ts";
import { renderManifest } from "../../src/domain/manifest-text.ts";

function entry(name: string, description = ""): ManifestEntry {
  return {
    name,
    description,
    manifestEntry: description === "" ? name : `${name}: ${description}`,
  };
}

const mail = entry("email", "Sends outbound mail");
const search = entry("search", "Looks things up");

test("no tools, no match and no room each have a text of their own, whatever the budget", (t) => {
  t.is(renderManifest([]), "  (no tools registered)");
  t.is(renderManifest([], { budgetTokens: 0, query: "x" }), "  (no tools registered)");
  t.is(renderManifest([mail], { query: "zebra" }), "  (no tools match this query)");
  t.is(
    renderManifest([mail], { query: "zebra", budgetTokens: 0 }),
    "  (no tools match this query)",
  );
  t.is(renderManifest([mail], { budgetTokens: 0 }), "  (omitted — budget too small)");
  t.is(renderManifest([mail], { budgetTokens: 4 }), "  (omitted — budget too small)");
});

test("without a budget everything is listed", (t) => {
  t.is(
    renderManifest([mail, search]),
    "  - email: Sends outbound mail\n  - search: Looks things up",
  );
});

test("without keywords the query searches names and descriptions, ignoring case", (t) => {
  const tools = [mail, search, entry("bare")];
  t.is(renderManifest(tools, { query: "OUTBOUND" }), "  - email: Sends outbound mail");
  t.is(renderManifest(tools, { query: "Bar" }), "  - bare");
  t.is(renderManifest(tools, { query: "" }).split("\n").length, 3);
});

test("the query reads the whole description, not only the line that is shown", (t) => {
  const tool = {
    name: "x",
    description: "First line\nmentions zebras",
    manifestEntry: "x: First line",
  };
  t.is(renderManifest([tool], { query: "zebra" }), "  - x: First line");
});

test("with keywords the query must contain one, save for tools that have none", (t) => {
  const tools = [mail, search, entry("constructor"), entry("__proto__")];
  const keywords = { email: ["Mail", "letter"], search: [] };
  const listed = (query: string): string[] =>
    renderManifest(tools, { keywords, query })
      .split("\n")
      .map((line) => line.slice(4).split(":", 1)[0] ?? "");
  t.deepEqual(listed("please MAIL this"), ["email", "search", "constructor", "__proto__"]);
  t.deepEqual(listed("email"), ["email", "search", "constructor", "__proto__"]);
  t.deepEqual(listed("write"), ["search", "constructor", "__proto__"]);
  t.deepEqual(listed(""), ["search", "constructor", "__proto__"]);
  t.is(renderManifest([mail], { keywords }), "  (no tools match this query)");
});

test("the footer counts what matched and did not fit", (t) => {
  const tools = [entry("aaaa"), entry("bbbb"), search, entry("aacc")];
  t.is(renderManifest(tools, { budgetTokens: 8, query: "aa" }), "  - aaaa\n  ... (+1 more)");
  t.is(renderManifest(tools, { budgetTokens: 8 }), "  - aaaa\n  ... (+3 more)");
});

test("a character is a code point, as it is in Python", (t) => {
  // Eight code points and twelve UTF-16 units: 8 + 1 + 17 = 26 of 28 characters.
  t.is(renderManifest([entry("🙂🙂🙂🙂")], { budgetTokens: 7 }), "  - 🙂🙂🙂🙂");
  t.is(renderManifest([entry("abcdefgh")], { budgetTokens: 7 }), "  (omitted — budget too small)");
});

test("a rendered text lists whole entries from the front, within its budget", (t) => {
  const unit = fc.constantFrom("a", "é", "🙂", " ", "\u{10ffff}");
  const entries = fc.array(fc.string({ unit, minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(entries, fc.nat({ max: 40 }), (names, budgetTokens) => {
      const text = renderManifest(
        names.map((name) => entry(name)),
        { budgetTokens },
      );
      if (text.startsWith("  (")) return text === "  (omitted — budget too small)";
      const lines = text.split("\n");
      const footer = /^ {2}\.\.\. \(\+(?<left>\d+) more\)$/u.exec(lines.at(-1) ?? "");
      const shown = footer === null ? lines : lines.slice(0, -1);
      const left = Number(footer?.groups?.["left"] ?? 0);
      return (
        Array.from(text).length <= budgetTokens * 4 &&
        shown.length + left === names.length &&
        shown.every((line, i) => line === `  - ${names[i] ?? ""}`)
      );
    }),
  );
  t.pass();
});
