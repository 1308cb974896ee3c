import { parseArgs } from "node:util";

import { cellsOfGoals } from "./goals.ts";
import type { Window } from "./measure.ts";
import { allCells, type Cell, cellName } from "./cells.ts";

/** What a run of the benchmark is to do. */
export interface BenchOptions {
  readonly cells: readonly Cell[];
  readonly rounds: number;
  readonly window: Window;
  /** Files to write. */
  readonly json: string | undefined;
  readonly svg: string | undefined;
}

/** What `npm run bench -- --help` prints. */
const usage = `Compares toolport with other servers: one core for the server, one for the client.

  npm run bench                    every cell, 7 rounds; it tells how long that takes
  npm run bench -- --quick         the cells that the goals speak of, 3 short rounds

  --only REGEX     cells whose names match, such as "toolport-run add 64" or "^grpc.* page"
  --rounds N       how often each cell is measured; figures are medians over the rounds
  --seconds N      how long each measurement is
  --json FILE      write all figures
  --svg FILE       draw them
  --list           print the cells' names
`;

/**
 * Reads the command line.
 *
 * @returns what to print instead, for `--help` and `--list`
 * @throws TypeError that says what is wrong
 */
export function readOptions(args: readonly string[]): BenchOptions | string {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      json: { type: "string" },
      svg: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return usage;
  const { quick, only, json, svg } = values;
  const cells = chosen(quick && only === undefined ? cellsOfGoals() : allCells(), only);
  if (values.list) return `${cells.map((cell) => cellName(cell)).join("\n")}\n`;
  const rounds = positive("--rounds", values.rounds, quick ? 3 : 7);
  if (!Number.isInteger(rounds)) throw new TypeError(`--rounds is ${rounds}: give a whole number`);
  const windowMs = positive("--seconds", values.seconds, quick ? 1 : 3) * 1000;
  return { cells, rounds, window: { warmUpMs: quick ? 500 : 1000, windowMs }, json, svg };
}

function chosen(cells: readonly Cell[], only: string | undefined): readonly Cell[] {
  if (only === undefined) return cells;
  let pattern;
  try {
    pattern = new RegExp(only, "u");
  } catch (cause) {
    throw new TypeError(`--only is no regular expression: ${only}`, { cause });
  }
  const some = cells.filter((cell) => pattern.test(cellName(cell)));
  if (some.length > 0) return some;
  throw new TypeError(`--only ${only} matches no cell: --list prints their names`);
}

function positive(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new TypeError(`${flag} is ${text}: give a number above 0`);
}
