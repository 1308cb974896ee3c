import test from "ava";

import { type Figures, median, medians } from "../../bench/compare/figures.ts";

test("a median is the middle value, or halfway between the middle two", (t) => {
  t.is(median([10, 9, 100]), 10);
  t.is(median([100, 1, 3, 2]), 2.5);
  t.is(median([7]), 7);
  t.throws(() => median([]), { instanceOf: RangeError });
});

test("medians of rounds are those of each figure by itself", (t) => {
  const round = (callsPerSecond: number, p99Us: number): Figures => {
    return { callsPerSecond, p50Us: 1, p99Us, serverCpuUs: 2, others: 0 };
  };
  const { callsPerSecond, p99Us } = medians([round(30, 1), round(10, 3), round(20, 2)]);
  t.deepEqual([callsPerSecond, p99Us], [20, 2]);
});
