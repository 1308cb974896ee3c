import type { Figures } from "./figures.ts";
import { groupTitle } from "./report.ts";
import { type Cell, cellName, subjectNames, subjectOf } from "./cells.ts";
import type { Family } from "./subjects.ts";

// The picture of the docs: calls a second under the loads that the goals speak of. It is drawn in
// greys and one colour of its own, which both light and dark pages show well.

const panels: readonly Panel[] = [
  { family: "unary", tool: "add", inFlight: 16 },
  { family: "stream", tool: "add", inFlight: 64 },
  { family: "unary", tool: "page", inFlight: 16 },
  { family: "python", tool: "add", inFlight: 64 },
];

interface Panel extends Omit<Cell, "subject"> {
  readonly family: Family;
}

const width = 760;
const labelWidth = 230;
const valueWidth = 80;
const rowHeight = 22;
const titleHeight = 34;
const gap = 18;

/** Draws the medians, by the names of their cells, as SVG. Cells that were not measured are left out. */
export function chart(medians: ReadonlyMap<string, Figures>): string {
  let top = 0;
  const parts: string[] = [];
  for (const { family, ...load } of panels) {
    const bars = subjectNames.flatMap((subject) => {
      const cell = { ...load, subject };
      const figures = medians.get(cellName(cell));
      return figures && subjectOf(cell).family === family ? [{ cell, figures }] : [];
    });
    const [first] = bars;
    if (!first) continue;
    parts.push(panel(groupTitle(first.cell), bars, top));
    top += titleHeight + bars.length * rowHeight + gap;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" font-family="system-ui, sans-serif" font-size="13">
<style>text { fill: #57606a } .own { fill: #0b7285 } .other { fill: #9aa5b1 } .title { font-weight: 600 } @media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } .own { fill: #3bc9db } .other { fill: #6e7681 } }</style>
${parts.join("\n")}
</svg>
`;
}

interface Bar {
  readonly cell: Cell;
  readonly figures: Figures;
}

function panel(title: string, bars: readonly Bar[], top: number): string {
  const most = Math.max(...bars.map(({ figures }) => figures.callsPerSecond));
  const rows = bars
    .toSorted((a, b) => b.figures.callsPerSecond - a.figures.callsPerSecond)
    .map(({ cell, figures: { callsPerSecond } }, at) => {
      const y = top + titleHeight + at * rowHeight;
      const length = (callsPerSecond / most) * (width - labelWidth - valueWidth);
      const kind = subjectOf(cell).title.startsWith("toolport") ? "own" : "other";
      const figure = Math.round(callsPerSecond).toLocaleString("en-US");
      return [
        `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${subjectOf(cell).title}</text>`,
        `<rect class="${kind}" x="${labelWidth}" y="${y + 3}" width="${length.toFixed(1)}" height="${rowHeight - 6}" rx="2"/>`,
        `<text x="${(labelWidth + length + 6).toFixed(1)}" y="${y + 15}">${figure}</text>`,
      ].join("\n");
    });
  return `<text class="title" x="8" y="${top + 20}">${title}: calls a second</text>\n${rows.join("\n")}`;
}
