import type { ToolDescriptor } from "./tool.ts";

/** What the manifest's text needs of a tool; every descriptor has it. */
export type ManifestEntry = Pick<ToolDescriptor, "name" | "description" | "manifestEntry">;

/** How the manifest is rendered. */
export interface ManifestTextOptions {
  /** The size in tokens, of four characters each; absent: unlimited. */
  readonly budgetTokens?: number | undefined;
  /** The user's request, or what to search for; absent is empty. */
  readonly query?: string | undefined;
  /** Trigger keywords by tool name; they change what `query` does. */
  readonly keywords?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Room kept for the footer. */
const footerLength = 17;

/**
 * Renders a manifest for a prompt: a line an entry, in order, as many whole entries as the budget
 * holds, and a footer that counts the rest. Characters are Unicode code points.
 *
 * What `query` does depends on `keywords`:
 *
 * - Without `keywords` the query is a search: an entry stays if its name or description contains
 *   the query, ignoring case; an empty query keeps all.
 * - With `keywords` the query is the user's request and triggers tools: an entry with keywords stays
 *   only if the query contains one of them, ignoring case, so an empty query drops it; an entry
 *   without keywords stays.
 *
 * @param entries the tools to list; hidden ones must be gone already
 * @returns the text; a line that says so where there is nothing to list, nothing matches or not
 *   even the first entry fits, whatever the budget
 */
export function renderManifest(
  entries: readonly ManifestEntry[],
  { budgetTokens, query = "", keywords }: ManifestTextOptions = {},
): string {
  if (entries.length === 0) return "  (no tools registered)";
  const shown = entries.filter((entry) => isShown(entry, query, keywords));
  if (shown.length === 0) return "  (no tools match this query)";
  const lines = fit(shown, budgetTokens === undefined ? Infinity : budgetTokens * 4);
  if (lines.length === 0) return "  (omitted — budget too small)";
  const left = shown.length - lines.length;
  return [...lines, ...(left > 0 ? [`  ... (+${left} more)`] : [])].join("\n");
}

/** Whether a search finds an entry: its name or description contains the query, ignoring case. */
export function isFound(
  { name, description }: Pick<ToolDescriptor, "name" | "description">,
  query: string,
): boolean {
  const lowerCase = query.toLowerCase();
  return [name, description].some((text) => text.toLowerCase().includes(lowerCase));
}

function isShown(
  entry: ManifestEntry,
  query: string,
  keywords: ManifestTextOptions["keywords"],
): boolean {
  if (keywords === undefined) return isFound(entry, query);
  const { name } = entry;
  const words = Object.hasOwn(keywords, name) ? (keywords[name] ?? []) : [];
  if (words.length === 0) return true;
  const lowerCase = query.toLowerCase();
  return query !== "" && words.some((word) => lowerCase.includes(word.toLowerCase()));
}

function fit(entries: readonly ManifestEntry[], cap: number): readonly string[] {
  const lines: string[] = [];
  let used = 0;
  for (const entry of entries) {
    const line = `  - ${entry.manifestEntry}`;
    const length = Array.from(line).length + 1;
    // The footer's room is asked for even before the last entry, so that a text never depends on
    // whether more tools follow.
    if (used + length + footerLength > cap) break;
    used += length;
    lines.push(line);
  }
  return lines;
}
