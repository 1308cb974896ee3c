import { stripVTControlCharacters, styleText } from "node:util";

import Table from "cli-table3";

/** How results are printed. */
export type OutputForm = "text" | "json";

/** A stream that people may be looking at. */
export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether it takes colours, by NO_COLOR, FORCE_COLOR, TERM and what it is. */
  hasColors?(): boolean;
}

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Styles text where the screen takes colours. */
export function paint(screen: Screen, style: Style, text: string): string {
  return screen.hasColors?.() ? styleText(style, text, { validateStream: false }) : text;
}

/**
 * A table without borders, wrapped to the screen's width.
 *
 * @param head the columns' titles; the last column takes the room that is left
 */
export function table(
  screen: Screen,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = rows.map((row) => row.map((cell) => printable(cell)));
  const gap = 2;
  const widths = head.map(
    (title, column) =>
      Math.max(
        title.length,
        ...cells.flatMap((row) => (row[column] ?? "").split("\n").map((line) => line.length)),
      ) + gap,
  );
  const room = Math.max(screen.columns || 100, 40);
  const fixed = widths.slice(0, -1).reduce((sum, width) => sum + width, 0);
  const last = Math.min(widths.at(-1) ?? 0, Math.max(room - fixed, 24));
  const drawn = new Table({
    head: head.map((title) => paint(screen, "bold", title)),
    colWidths: [...widths.slice(0, -1), last],
    wordWrap: true,
    wrapOnWordBoundary: true,
    chars: borderless,
    style: { head: [], border: [], "padding-left": 0, "padding-right": gap, compact: true },
  });
  drawn.push(...cells);
  return `${drawn
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")}\n`;
}

/** Text without what would move a terminal's cursor, change its colours or ring its bell. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu, "");
}

/** JSON text laid out for people, every digit kept. Text that is not JSON comes back as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(exactJson(text), undefined, 2);
  } catch {
    return text;
  }
}

/** A value that `JSON.stringify` writes with the very digits of the text. */
export function exactJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined
      ? (JSON as unknown as { rawJSON(source: string): unknown }).rawJSON(context.source)
      : value,
  );
}

const borderless = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "",
};
