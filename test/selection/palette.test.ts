import test from "ava";
import { select } from "./helpers.ts";

const three = ["a", "b", "c"];

test("no opinion, none allowed and a list of strangers are three different things", async (t) => {
  const none = await select({ palettes: () => [] }, three);
  t.deepEqual(none.tools, []);
  t.true(none.decided);
  t.deepEqual(none.actions, ["forced_choice:abstained", "role_palette:emptied"]);

  const noOpinion = await select({ palettes: () => null }, three);
  t.deepEqual(noOpinion.tools, three);
  t.false(noOpinion.decided);
  t.deepEqual(noOpinion.actions, ["forced_choice:abstained", "role_palette:abstained"]);

  const strangers = await select({ palettes: () => ["ghost", "spook"] }, three);
  t.deepEqual(strangers.tools, three);
  t.true(strangers.decided);
  t.deepEqual(strangers.actions, ["forced_choice:abstained", "role_palette:degraded"]);
  t.regex(strangers.details[1] ?? "", /"ghost", "spook"/u);
});

test("a role that is absent, empty or not in the table lets all tools through", async (t) => {
  const palettes = { reader: ["a"] };
  for (const role of ["", "writer", "Reader", "constructor", "__proto__"]) {
    const selection = await select({ palettes }, three, { role });
    t.deepEqual(selection.tools, three, role);
    t.false(selection.decided, role);
  }
  t.deepEqual((await select({ palettes }, three, { role: "reader" })).tools, ["a"]);
});

test("a table keeps the set's order, a resolver's answer brings its own", async (t) => {
  const role = "r";
  t.deepEqual((await select({ palettes: { r: ["c", "a"] } }, three, { role })).tools, ["a", "c"]);
  t.deepEqual((await select({ palettes: () => ["c", "a", "c"] }, three, { role })).tools, [
    "c",
    "a",
  ]);
});

test("a palette of tools that are known but not offered here lets none through", async (t) => {
  const table = await select({ palettes: { r: ["a"] } }, three, { role: "r" }, ["b"]);
  t.deepEqual(table.tools, []);
  t.is(table.actions[1], "role_palette:emptied");
  t.regex(table.details[1] ?? "", /"a"/u);
  t.deepEqual((await select({ palettes: () => ["a"] }, three, {}, ["b"])).tools, []);
});

test("a palette only narrows: what it does not hold is mentioned and left out", async (t) => {
  const selection = await select({ palettes: () => ["ghost", "b", "c"] }, three, {}, ["a", "b"]);
  t.deepEqual(selection.tools, ["b"]);
  t.regex(selection.details[1] ?? "", /"ghost".*"c"/u);
});

test("names that every object has are ordinary names", async (t) => {
  const names = ["toString", "__proto__", "constructor"];
  const palettes = JSON.parse('{"__proto__": ["__proto__", "hasOwnProperty"]}') as Record<
    string,
    string[]
  >;
  const selection = await select({ palettes }, names, { role: "__proto__" });
  t.deepEqual(selection.tools, ["__proto__"]);
  t.regex(selection.details[1] ?? "", /"hasOwnProperty"/u);
});

test("a nameless tool is never dropped by names", async (t) => {
  t.deepEqual((await select({ palettes: () => ["b"] }, [null, "a", "b"])).tools, ["b", null]);
  t.deepEqual((await select({ palettes: () => [] }, ["", "a"])).tools, [""]);
});

test("answers of the wrong shape are degraded and change nothing", async (t) => {
  for (const answer of [7, "abc", {}, ["a", 1], [["a"]], true, new Set(["a"])]) {
    const selection = await select({ palettes: (() => answer) as never }, three);
    t.deepEqual(selection.tools, three);
    t.is(selection.actions[1], "role_palette:degraded");
  }
});
