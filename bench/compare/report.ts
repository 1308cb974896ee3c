import type { Figures } from "./figures.ts";
import type { Verdict } from "./goals.ts";
import { tolerated } from "./calm.ts";
import { type Cell, cellName, subjectOf } from "./cells.ts";
import type { Family, SubjectName } from "./subjects.ts";

/** What each family is compared with, in columns. */
const baselines: Readonly<Record<Family, readonly SubjectName[]>> = {
  unary: ["connect-unary", "grpcio-unary", "http2-echo"],
  stream: ["connect-bidi", "grpcio-bidi", "grpc-go-bidi"],
  python: ["python-grpcio"],
};

const familyTitles: Readonly<Record<Family, string>> = {
  unary: "Calls of their own",
  stream: "Calls on one stream",
  python: "Calls of a Python client on one stream",
};

/** A group of cells that are compared with each other, for people. */
export function groupTitle(cell: Cell): string {
  const what = familyTitles[subjectOf(cell).family];
  const size = cell.tool === "add" ? "a small result" : "a result of 64 KiB";
  return `${what}, ${size}, ${cell.inFlight} in flight`;
}

/** The medians as Markdown, a table for each group. */
export function tables(cells: readonly Cell[], medians: ReadonlyMap<string, Figures>): string {
  const groups = Map.groupBy(cells, groupTitle);
  return [...groups].map(([title, some]) => `${title}:\n\n${table(some, medians)}`).join("\n\n");
}

function table(cells: readonly Cell[], medians: ReadonlyMap<string, Figures>): string {
  const [first] = cells;
  if (!first) return "";
  const compared = baselines[subjectOf(first).family].flatMap((subject) => {
    const figures = medians.get(cellName({ ...first, subject }));
    return figures ? [{ title: `× ${subjectOf({ subject }).title}`, figures }] : [];
  });
  const head = ["", "calls/s", "p50 µs", "p99 µs", "server µs/call"];
  const rows = cells.flatMap((cell) => {
    const own = medians.get(cellName(cell));
    if (!own) return [];
    const ratios = compared.map(({ figures }) => own.callsPerSecond / figures.callsPerSecond);
    const figures = [own.callsPerSecond, own.p50Us, own.p99Us].map((value) => value.toFixed(0));
    return [
      [
        subjectOf(cell).title,
        ...figures,
        own.serverCpuUs.toFixed(1),
        ...ratios.map((ratio) => ratio.toFixed(2)),
      ],
    ];
  });
  return markdown([...head, ...compared.map(({ title }) => title)], rows);
}

/** A warning where other processes had much of the two cores. */
export function disturbance(rounds: readonly Figures[]): string | undefined {
  const disturbed = rounds.filter(({ others }) => others > tolerated).length;
  if (disturbed * 10 < rounds.length) return undefined;
  const most = Math.max(...rounds.map(({ others }) => others));
  return `In ${disturbed} of ${rounds.length} measurements other processes took more than ${tolerated * 100} % of a core, ${Math.round(most * 100)} % at most: the figures are doubtful.`;
}

/** How the goals came out, as Markdown. */
export function goalTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ goal, value, byServerCpu, met }) => [
    goal,
    shown(value),
    shown(byServerCpu),
    met === undefined ? "not measured" : met ? "met" : "NOT MET",
  ]);
  return markdown(["goal", "measured", "by server CPU", ""], rows);
}

function shown(value: number | undefined): string {
  return value === undefined ? "–" : value.toFixed(value < 100 ? 2 : 0);
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => {
    return Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0));
  });
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(" | ")} |`;
  };
  const rule = widths.map((width, column) => {
    return column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
  });
  return [line(head), line(rule), ...rows.map((row) => line(row))].join("\n");
}
