import test from "ava";

import { type Cell, cellName } from "../../bench/compare/cells.ts";
import type { Figures } from "../../bench/compare/figures.ts";
import { cellsOfGoals, type Goal, goals, judge } from "../../bench/compare/goals.ts";

const own: Cell = { subject: "toolport-unary", tool: "add", inFlight: 16 };
const other: Cell = { ...own, subject: "connect-unary" };

function measured(
  ...figures: readonly (readonly [Cell, Partial<Figures>])[]
): Map<string, Figures> {
  const nothing = { callsPerSecond: 1, p50Us: 1, p99Us: 1, serverCpuUs: 1, others: 0 };
  return new Map(figures.map(([cell, some]) => [cellName(cell), { ...nothing, ...some }]));
}

const ratio = test.macro<[Goal["bound"], number, boolean]>({
  exec(t, bound: Goal["bound"], value: number, met: boolean) {
    const goal: Goal = { cell: own, of: "callsPerSecond", against: other, bound };
    const medians = measured(
      [own, { callsPerSecond: value * 1000, serverCpuUs: 50 }],
      [other, { callsPerSecond: 1000, serverCpuUs: 200 }],
    );
    const verdict = judge(goal, medians);
    t.is(verdict.value, value);
    t.is(verdict.met, met);
    t.is(verdict.byServerCpu, 4);
  },
  title: (_given, bound, value, met) =>
    `a ratio of ${value} ${met ? "meets" : "fails"} ${JSON.stringify(bound)}`,
});

test(ratio, { atLeast: 2.5 }, 2.5, true);
test(ratio, { atLeast: 2.5 }, 2.25, false);
test(ratio, { atMost: 1.25 }, 1.25, true);
test(ratio, { atMost: 1.25 }, 1.5, false);

test("a goal without another cell is a figure of its own", (t) => {
  const goal: Goal = { cell: own, of: "p99Us", bound: { atMost: 60_000 } };
  t.like(judge(goal, measured([own, { p99Us: 59_999 }])), { value: 59_999, met: true });
  t.like(judge(goal, measured([own, { p99Us: 60_001 }])), { value: 60_001, met: false });
});

test("a goal is neither met nor failed where one of its cells was not measured", (t) => {
  const goal: Goal = { cell: own, of: "p99Us", against: other, bound: { atMost: 1 } };
  t.false("met" in judge(goal, measured([own, {}])));
  t.false("met" in judge(goal, measured([other, {}])));
  t.true("met" in judge(goal, measured([own, {}], [other, {}])));
});

test("clients of one server are not compared by the server's processor time", (t) => {
  const run: Cell = { subject: "python-run", tool: "add", inFlight: 64 };
  const plain: Cell = { ...run, subject: "python-grpcio" };
  const goal: Goal = { cell: run, of: "callsPerSecond", against: plain, bound: { atLeast: 5 } };
  t.false("byServerCpu" in judge(goal, measured([run, {}], [plain, {}])));
});

test("each goal compares cells under the same load, and says so in a sentence of its own", (t) => {
  for (const { cell, against } of goals) {
    if (against) t.deepEqual({ ...against, subject: cell.subject }, cell);
  }
  t.is(new Set(goals.map((goal) => judge(goal, new Map()).goal)).size, goals.length);
  const names = cellsOfGoals().map((cell) => cellName(cell));
  t.is(new Set(names).size, names.length);
});
