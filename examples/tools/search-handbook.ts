import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { createInterface } from "node:readline";

import { defineTool } from "toolport";
import { z } from "zod";

const handbook = new URL("../data/handbook/", import.meta.url);

/** Reads every page of the handbook, telling how far it is and each match as it is found. */
export const searchHandbook = defineTool({
  name: "search_handbook",
  description: `Finds lines in the staff handbook of the ferry company.

The search is for plain text and ignores case. Each match comes with its page and line number.`,
  parameters: z.object({
    text: z.string().min(2).describe("What to look for, for example a word"),
    maxMatches: z.int().min(1).max(100).default(20).describe("Stop after this many matches"),
  }),
  category: "data",
  readOnly: true,
  openWorld: false,
  idempotent: true,
  async execute({ text, maxMatches }, ctx) {
    const wanted = text.toLowerCase();
    const pages = (await readdir(handbook)).filter((name) => name.endsWith(".md")).toSorted();
    const matches: { page: string; line: number; text: string }[] = [];
    for (const [index, page] of pages.entries()) {
      ctx.progress(index, pages.length, page);
      let number = 0;
      const file = createReadStream(new URL(page, handbook), { signal: ctx.signal });
      for await (const line of createInterface({ input: file, crlfDelay: Infinity })) {
        number += 1;
        if (!line.toLowerCase().includes(wanted)) continue;
        matches.push({ page, line: number, text: line });
        await ctx.output(`${page}:${number}: ${line}\n`);
        if (matches.length === maxMatches) return { matches, complete: false };
      }
    }
    ctx.progress(pages.length, pages.length, "done");
    return { matches, complete: true };
  },
});
