import test from "ava";

import { allCells, type Cell, cellName, subjectOf } from "../../bench/compare/cells.ts";
import { orderOf } from "../../bench/compare/schedule.ts";

const groupOf = (cell: Cell): string => `${subjectOf(cell).family} ${cell.tool} ${cell.inFlight}`;

test("every round measures every cell once, those that are compared in a row", (t) => {
  const cells = allCells();
  const names = cells.map((cell) => cellName(cell)).toSorted();
  t.is(new Set(names).size, names.length);
  const groups = new Set(cells.map(groupOf)).size;
  for (const round of [0, 1, 7, 1000]) {
    const order = orderOf(cells, round);
    t.deepEqual(order.map((cell) => cellName(cell)).toSorted(), names);
    const changes = order.filter((cell, at) => {
      const before = order[at - 1];
      return !before || groupOf(before) !== groupOf(cell);
    });
    t.is(changes.length, groups);
  }
});

test("each round begins with another one of the cells that are compared", (t) => {
  const cells = allCells().filter((cell) => groupOf(cell) === "stream add 64");
  const firsts = cells.map((_, round) => orderOf(cells, round)[0]?.subject);
  t.is(new Set(firsts).size, cells.length);
});
