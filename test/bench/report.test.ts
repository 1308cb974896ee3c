import test from "ava";

import { type Cell, cellName } from "../../bench/compare/cells.ts";
import { chart } from "../../bench/compare/chart.ts";
import type { Figures } from "../../bench/compare/figures.ts";
import { disturbance, goalTable, tables } from "../../bench/compare/report.ts";

const own: Cell = { subject: "toolport-unary", tool: "add", inFlight: 16 };
const other: Cell = { ...own, subject: "connect-unary" };
const figures = (callsPerSecond: number, others = 0): Figures => {
  return { callsPerSecond, p50Us: 100, p99Us: 200, serverCpuUs: 12.34, others };
};
const medians = new Map([
  [cellName(own), figures(5000)],
  [cellName(other), figures(2000)],
]);

test("a table has each subject's figures and its ratios to those measured beside it", (t) => {
  const text = tables([own, other], medians);
  const [title, , head, , first, second, ...rest] = text.split("\n");
  t.is(title, "Calls of their own, a small result, 16 in flight:");
  const cells = (line?: string): string[] => (line ?? "").split("|").map((cell) => cell.trim());
  t.deepEqual(cells(head).slice(2, -1), [
    ...["calls/s", "p50 µs", "p99 µs", "server µs/call"],
    "× connect-node",
  ]);
  t.deepEqual(cells(first).slice(1, -1), [
    ...["toolport Execute", "5000", "100", "200", "12.3"],
    "2.50",
  ]);
  t.is(cells(second).at(-2), "1.00");
  t.deepEqual(rest, []);
});

test("a verdict is met, not met or not measured", (t) => {
  const [, , met, failed, none] = goalTable([
    { goal: "a", value: 2, met: true },
    { goal: "b", value: 1, met: false },
    { goal: "c" },
  ]).split("\n");
  t.regex(met ?? "", /2\.00 .* met \|$/u);
  t.regex(failed ?? "", /1\.00 .* NOT MET \|$/u);
  t.regex(none ?? "", /– .* not measured \|$/u);
});

test("it warns where other processes disturbed a tenth of the measurements", (t) => {
  const calm = Array.from({ length: 9 }, () => figures(1, 0.01));
  t.is(disturbance([...calm, figures(1, 0.02)]), undefined);
  t.regex(disturbance([...calm, figures(1, 0.75)]) ?? "", /^In 1 of 10 .* 75 % at most/u);
});

test("the picture's bars are as long as their figures, the longest first", (t) => {
  const svg = chart(medians);
  const lengths = [...svg.matchAll(/<rect class="(?<kind>\w+)".* width="(?<width>[\d.]+)"/gu)];
  t.deepEqual(
    lengths.map(({ groups }) => groups?.["kind"]),
    ["own", "other"],
  );
  const [first, second] = lengths.map(({ groups }) => Number(groups?.["width"]));
  t.true(Math.abs(Number(first) / Number(second) - 2.5) < 0.01);
  t.true(svg.includes(">5,000<"));
});
