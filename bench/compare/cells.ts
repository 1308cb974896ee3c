import {
  type Family,
  type Subject,
  type SubjectName,
  subjects,
  type Tool,
  tools,
} from "./subjects.ts";

/** How many calls are in flight. */
export const inFlights = [1, 16, 64] as const;
export type InFlight = (typeof inFlights)[number];

/** Its cells are compared with each other. */
const families: readonly Family[] = ["unary", "stream", "python"];

/** All of them, in order. */
export const subjectNames = Object.keys(subjects) as SubjectName[];

/** A subject under one load: what is measured once a round. */
export interface Cell {
  readonly subject: SubjectName;
  readonly tool: Tool;
  readonly inFlight: InFlight;
}

/** The subject of a cell. */
export function subjectOf({ subject }: Pick<Cell, "subject">): Subject {
  return subjects[subject];
}

/** How a cell is named, which `--only` is matched with: `toolport-run add 64`. */
export function cellName({ subject, tool, inFlight }: Cell): string {
  return `${subject} ${tool} ${inFlight}`;
}

/** Every cell, those that are compared with each other in a row. */
export function allCells(): Cell[] {
  const cells: Cell[] = [];
  for (const family of families) {
    for (const tool of tools) {
      for (const inFlight of inFlights) {
        for (const subject of subjectNames) {
          const { family: own, tools: has = tools } = subjectOf({ subject });
          if (own === family && has.includes(tool)) cells.push({ subject, tool, inFlight });
        }
      }
    }
  }
  return cells;
}
