/**
 * toolport beside other servers: `npm run bench -- --help`.
 *
 * All servers run on one core, all the time; a client on another core calls one after the other. The
 * figures are medians over rounds. Ratios of one run hold on other machines; absolute figures don't.
 * What other processes disturb is measured again, and told where that does not help.
 */
import { existsSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { delimiter, join } from "node:path";

import { calmest } from "./calm.ts";
import { cellName, subjectOf } from "./cells.ts";
import { chart } from "./chart.ts";
import { type Figures, medians } from "./figures.ts";
import { goals, judge } from "./goals.ts";
import { measure } from "./measure.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { type PinnedServer, startPinned } from "./pinned-server.ts";
import { disturbance, goalTable, tables } from "./report.ts";
import { orderOf } from "./schedule.ts";
import { serverCommands } from "./server-commands.ts";

/** How often a cell is measured in a round, where other processes disturb it. */
const attempts = 4;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

try {
  const options = readOptions(process.argv.slice(2));
  if (typeof options === "string") process.stdout.write(options);
  else await bench(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function bench(options: BenchOptions): Promise<void> {
  requireTwoCores();
  const { cells, rounds, window, json, svg } = options;
  const measured = await measureAll(options);
  const byCell = new Map([...measured].map(([name, figures]) => [name, medians(figures)]));
  const verdicts = goals.map((goal) => judge(goal, byCell));
  console.log(`${tables(cells, byCell)}\n\n${goalTable(verdicts)}`);
  const warning = disturbance([...measured.values()].flat());
  if (warning !== undefined) console.error(`\n${warning}`);
  if (svg !== undefined) writeFileSync(svg, chart(byCell));
  if (json === undefined) return;
  const machine = { cpu: cpus()[0]?.model ?? "unknown", node: process.version };
  const figures = cells.map((cell) => {
    const name = cellName(cell);
    return { ...cell, median: byCell.get(name), rounds: measured.get(name) };
  });
  const text = JSON.stringify(
    { machine, rounds, ...window, cells: figures, goals: verdicts },
    null,
    2,
  );
  writeFileSync(json, `${text}\n`);
}

async function measureAll({
  cells,
  rounds,
  window,
}: BenchOptions): Promise<ReadonlyMap<string, Figures[]>> {
  const measured = new Map<string, Figures[]>(cells.map((cell) => [cellName(cell), []]));
  const minutes = (cells.length * rounds * (window.warmUpMs + window.windowMs + 100)) / 60_000;
  console.error(`${cells.length} cells, ${rounds} rounds: some ${Math.ceil(minutes)} minutes`);
  const names = new Set(cells.flatMap((cell) => subjectOf(cell).server ?? []));
  const servers = new Map<string, PinnedServer>();
  try {
    for (const name of names) servers.set(name, await startPinned(name, serverCommands[name]));
    for (let round = 0; round < rounds; round++) {
      for (const cell of orderOf(cells, round)) {
        const server = servers.get(subjectOf(cell).server ?? "");
        const figures = await calmest(() => measure(cell, server, window), attempts);
        measured.get(cellName(cell))?.push(figures);
        tell(`round ${round + 1}: ${cellName(cell)}: ${figures.callsPerSecond.toFixed(0)} calls/s`);
      }
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
    tell("");
  }
  return measured;
}

/** Shows how far it is, where somebody watches. */
function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
}

function requireTwoCores(): void {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  if (!folders.some((folder) => existsSync(join(folder, "taskset")))) {
    throw new Error("taskset is needed, which util-linux has: the benchmark runs on Linux only");
  }
  if (availableParallelism() < 2) {
    throw new Error("two cores are needed: one for the server and one for the client");
  }
}
