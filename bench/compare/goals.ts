import { type Cell, cellName, subjectOf } from "./cells.ts";
import type { Figures } from "./figures.ts";

/** What must hold of a cell's medians: a ratio to another cell's, or an absolute figure. */
export interface Goal {
  readonly cell: Cell;
  readonly of: keyof typeof words;
  /** Absent: the bound is absolute. */
  readonly against?: Cell;
  readonly bound: { readonly atLeast: number } | { readonly atMost: number };
}

/** How a goal came out. */
export interface Verdict {
  /** A sentence. */
  readonly goal: string;
  /** The ratio or the figure; absent: a cell of it was not measured. */
  readonly value?: number;
  /**
   * What the ratio of calls a second would be by the processor time that the servers take for a call.
   * Other processes disturb it little; it leaves out where a server waits.
   */
  readonly byServerCpu?: number;
  readonly met?: boolean;
}

const execute: Cell = { subject: "toolport-unary", tool: "add", inFlight: 16 };
const executePage: Cell = { subject: "toolport-unary", tool: "page", inFlight: 16 };
const run: Cell = { subject: "toolport-run", tool: "add", inFlight: 64 };
const durable: Cell = { subject: "toolport-run-sqlite", tool: "add", inFlight: 64 };

const python: Cell = { subject: "python-run", tool: "add", inFlight: 64 };

/** What toolport is held to. Calls per second, unless it says otherwise. */
export const goals: readonly Goal[] = [
  faster(execute, { ...execute, subject: "connect-unary" }, 6.5),
  faster(execute, { ...execute, subject: "grpcio-unary" }, 7),
  faster(execute, { ...execute, subject: "mcp-http" }, 12),
  faster(execute, { ...execute, subject: "http2-echo" }, 0.95),
  {
    cell: execute,
    of: "p99Us",
    against: { ...execute, subject: "http2-echo" },
    bound: { atMost: 1.15 },
  },
  faster(run, { ...run, subject: "connect-bidi" }, 4.5),
  faster(run, { ...run, subject: "grpcio-bidi" }, 15),
  faster(run, { ...run, subject: "mcp-stdio" }, 2.5),
  faster(run, { ...run, subject: "grpc-go-bidi" }, 0.65),
  faster(executePage, { ...executePage, subject: "connect-unary" }, 2),
  faster(executePage, { ...executePage, subject: "grpcio-unary" }, 0.9),
  faster(python, { ...python, subject: "python-grpcio" }, 5),
  { cell: durable, of: "callsPerSecond", bound: { atLeast: 3000 } },
  { cell: durable, of: "p99Us", bound: { atMost: 60_000 } },
];

function faster(cell: Cell, against: Cell, atLeast: number): Goal {
  return { cell, of: "callsPerSecond", against, bound: { atLeast } };
}

/** The cells that goals speak of. */
export function cellsOfGoals(): Cell[] {
  const cells = goals.flatMap(({ cell, against }) => (against ? [cell, against] : [cell]));
  return [...new Map(cells.map((cell) => [cellName(cell), cell])).values()];
}

/** Holds the medians, by the names of their cells, against a goal. */
export function judge(goal: Goal, medians: ReadonlyMap<string, Figures>): Verdict {
  const sentence = sentenceOf(goal);
  const own = medians.get(cellName(goal.cell));
  const other = goal.against && medians.get(cellName(goal.against));
  if (!own || (goal.against && !other)) return { goal: sentence };
  const value = own[goal.of] / (other?.[goal.of] ?? 1);
  const met = "atLeast" in goal.bound ? value >= goal.bound.atLeast : value <= goal.bound.atMost;
  const byServerCpu = goal.of === "callsPerSecond" ? cpuRatio(goal, own, other) : undefined;
  return { goal: sentence, value, met, ...(byServerCpu !== undefined && { byServerCpu }) };
}

function cpuRatio(
  { cell, against }: Goal,
  own: Figures,
  other: Figures | undefined,
): number | undefined {
  // Clients of one server are no servers to compare.
  if (!against || !other || subjectOf(cell).server === subjectOf(against).server) return undefined;
  return other.serverCpuUs / own.serverCpuUs;
}

const words = {
  callsPerSecond: "calls/s",
  p99Us: "p99 in µs",
} as const;

function sentenceOf({ cell, of, against, bound }: Goal): string {
  const limit = "atLeast" in bound ? `at least ${bound.atLeast}` : `at most ${bound.atMost}`;
  const what = `${words[of]} of ${cellName(cell)}`;
  return against ? `${what}: ${limit} × ${against.subject}` : `${what}: ${limit}`;
}
