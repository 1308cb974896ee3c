import test from "ava";

import { cellName } from "../../bench/compare/cells.ts";
import { cellsOfGoals } from "../../bench/compare/goals.ts";
import { type BenchOptions, readOptions } from "../../bench/compare/options.ts";

function read(...args: readonly string[]): BenchOptions {
  const options = readOptions(args);
  if (typeof options === "string") throw new TypeError("it prints instead");
  return options;
}

test("a quick run measures what the goals speak of", (t) => {
  const { cells, rounds, window } = read("--quick");
  t.deepEqual(cells, cellsOfGoals());
  t.true(rounds < read().rounds);
  t.true(window.windowMs < read().window.windowMs);
});

test("--only chooses cells by their names, of all of them", (t) => {
  const { cells, rounds } = read("--quick", "--only", "^toolport-run.* add 1$", "--rounds", "2");
  t.true(cells.some((cell) => cellName(cell) === "toolport-run add 1"));
  t.true(cells.every((cell) => cell.subject.startsWith("toolport-run") && cell.inFlight === 1));
  t.is(rounds, 2);
});

test("--list prints the names of the cells that it would measure", (t) => {
  t.is(readOptions(["--list", "--only", "^mcp-http add 16$"]), "mcp-http add 16\n");
});

const refused = test.macro<[readonly string[], RegExp]>({
  exec(t, args: readonly string[], message: RegExp) {
    t.throws(() => readOptions(args), { instanceOf: TypeError, message });
  },
  title: (_given, args) => `${args.join(" ")} is refused`,
});

test(refused, ["--rounds", "0"], /^--rounds is 0: give a number above 0$/u);
test(refused, ["--rounds", "1.5"], /^--rounds is 1.5: give a whole number$/u);
test(refused, ["--seconds", "long"], /^--seconds is long/u);
test(refused, ["--only", "("], /^--only is no regular expression: \($/u);
test(refused, ["--only", "nothing"], /^--only nothing matches no cell/u);
test(refused, ["--fast"], /--fast/u);
