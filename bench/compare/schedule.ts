import { type Cell, subjectOf } from "./cells.ts";

/**
 * The order of a round: cells that are compared stay neighbours, so that they share the machine's
 * moods, and each round begins with another one of them, so that none always follows the same.
 *
 * @param round from 0
 */
export function orderOf(cells: readonly Cell[], round: number): Cell[] {
  const groups = Map.groupBy(cells, (cell) => {
    return `${subjectOf(cell).family} ${cell.tool} ${cell.inFlight}`;
  });
  return [...groups.values()].flatMap((group) => {
    const first = round % group.length;
    return [...group.slice(first), ...group.slice(0, first)];
  });
}
