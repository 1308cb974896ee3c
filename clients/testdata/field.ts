// What systems like this one have failed their users with, as tools that the clients of Python and
// Go call.
import { setTimeout as wait } from "node:timers/promises";

import { tool as langChainTool } from "@langchain/core/tools";
import { defineTool, defineTools } from "toolport";
import { z } from "zod";

const isCrowded = process.env["FIELD_CROWD"] !== undefined;
let additions = 0;
let silences = 0;

/**
 * Finds an order.
 * @param code its code, such as 00731
 */
export function orderByFunction(code: string): string {
  return JSON.stringify({ code });
}

const orderByZod = defineTool({
  name: "order_by_zod",
  description: "Finds an order.",
  parameters: z.object({ code: z.string() }),
  execute: (args) => args,
});

const orderBySchema = defineTool({
  name: "order_by_schema",
  description: "Finds an order.",
  parameters: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
  execute: (args) => args,
});

const orderByLangChain = langChainTool((args: { code: string }) => JSON.stringify(args), {
  name: "order_by_langchain",
  description: "Finds an order.",
  schema: z.object({ code: z.string() }),
});

const add = defineTool({
  name: "add",
  description: "Adds one more, and says how many were added.",
  parameters: z.object({ note: z.string().default("") }),
  execute: () => (additions += 1),
});

const make = defineTool({
  name: "make",
  description: "Makes a text of some size, and counts its filler.",
  parameters: z.object({ size: z.number(), filler: z.string().default("") }),
  execute: ({ size, filler }) => "x".repeat(size) + String(filler.length),
});

const fail = defineTool({
  name: "fail",
  description: "Fails with the text that it is given.",
  parameters: z.object({ text: z.string() }),
  execute({ text }) {
    throw new Error(text);
  },
});

const silent = defineTool({
  name: "silent",
  description: "Says nothing for a while.",
  parameters: z.object({ ms: z.number() }),
  async execute({ ms }, { progress, signal }) {
    silences += 1;
    try {
      if (ms > 0) progress(0, 1, "hush");
      await wait(ms, undefined, { signal });
    } finally {
      silences -= 1;
    }
    return "at last";
  },
});

const stillSilent = defineTool({
  name: "still_silent",
  description: "Says how many calls are silent right now.",
  execute: () => silences,
});

const concealed = defineTool({
  name: "concealed",
  description: "Is not in the manifest.",
  visibility: "hidden",
  execute: () => "found",
});

const crowd = Array.from({ length: isCrowded ? 2000 : 0 }, (_, index) =>
  defineTool({
    name: `tool_${index}`,
    description: "d".repeat(3000),
    execute: () => index,
  }),
);

const palettes: ReadonlyMap<string, readonly string[]> = new Map([
  ["nothing", []],
  ["strangers", ["nobody", "no_one"]],
  ["adder", ["add"]],
]);

export default defineTools({
  tools: [
    orderByFunction,
    orderByZod,
    orderBySchema,
    orderByLangChain,
    add,
    make,
    fail,
    silent,
    stillSilent,
    concealed,
    ...crowd,
  ],
  palettes: { resolve: ({ role }) => palettes.get(role ?? "") ?? null },
});
