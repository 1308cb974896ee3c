import test from "ava";
import { ConfigurationError } from "../../src/errors.ts";
import { createSelector } from "../../src/selection/selector.ts";

const refused = test.macro<[config: unknown, names: RegExp]>({
  exec(t, config, names) {
    t.throws(() => createSelector(config as never), {
      instanceOf: ConfigurationError,
      message: names,
    });
  },
  title: (title) => `a configuration is refused with ${title}`,
});

const stage = { name: "mine", select: () => null };

test(
  "a palette that is no list",
  refused,
  { palettes: { reader: "read" } },
  /palettes\["reader"\]/u,
);
test("a palette of other than strings", refused, { palettes: { reader: ["a", 1] } }, /\[1\] is 1/u);
test("palettes that are neither table nor resolver", refused, { palettes: [["a"]] }, /palettes/u);
test("a resolver of no use", refused, { forcedChoice: "search" }, /forcedChoice is "search"/u);
test("a resolver without its method", refused, { forcedChoice: { find() {} } }, /`resolve`/u);
test("stages that are no list", refused, { stages: stage }, /stages is an object/u);
test("a stage without a name", refused, { stages: [stage, { select() {} }] }, /stages\[1\]/u);
test("a stage that can't select", refused, { stages: [{ name: "x", select: 1 }] }, /stages\[0\]/u);
test("a stage that is nothing", refused, { stages: [null] }, /stages\[0\] is null/u);
test("two stages of one name", refused, { stages: [stage, { ...stage }] }, /stages\[1\].*"mine"/u);
for (const name of ["intent_routing", "forced_choice", "role_palette"]) {
  test(`a stage named ${name}`, refused, { stages: [{ ...stage, name }] }, new RegExp(name, "u"));
}
test("an unknown intent mode", refused, { intent: { mode: "on" } }, /intent\.mode is "on"/u);
test("keywords that are no list", refused, { intent: { triggerKeywords: { a: "x" } } }, /\["a"\]/u);
test("a misspelt option", refused, { palette: {} }, /no option "palette"/u);
test("a misspelt intent option", refused, { intent: { keywords: {} } }, /no option "keywords"/u);
for (const stageTimeoutMs of [0, -1, Number.NaN, Infinity, "10"]) {
  test(`a stage time limit of ${String(stageTimeoutMs)}`, refused, { stageTimeoutMs }, /positive/u);
}

test("a configuration may be empty, absent, or full of undefined", (t) => {
  t.notThrows(() => createSelector());
  t.notThrows(() =>
    createSelector({
      intent: undefined,
      forcedChoice: undefined,
      palettes: undefined,
      stages: undefined,
      stageTimeoutMs: undefined,
    }),
  );
});
