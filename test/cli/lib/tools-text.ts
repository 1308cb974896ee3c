/** A tools file with a tool for each thing that a command line can meet. */
export const toolsText: string = `
import { defineTool, defineTools } from "toolport";
import { setTimeout as wait } from "node:timers/promises";

console.log("printed while loading");

const echo = defineTool({
  name: "echo",
  description: "Gives its arguments back.\\n\\nAll of them.",
  parameters: {
    type: "object",
    properties: {
      code: { type: "string", description: "Some code" },
      n: { type: "number", default: 1 },
      id: { type: "integer", format: "int64" },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["code"],
  },
  readOnly: true,
  execute: (args) => args,
});
const shout = defineTool({
  name: "shout",
  description: "Says something in capitals.",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  execute({ text }) {
    console.log("printed by a tool");
    return String(text).toUpperCase();
  },
});
const fail = defineTool({
  name: "fail",
  description: "Always fails.",
  execute() {
    throw new RangeError("nothing works");
  },
});
const slow = defineTool({
  name: "slow",
  description: "Takes long, and says when it is told to stop.",
  async execute(_args, ctx) {
    ctx.progress(1, 3, "under way");
    await ctx.output("partial\\n");
    try {
      await wait(60_000, undefined, { signal: ctx.signal });
    } finally {
      process.stderr.write("slow was stopped\\n");
    }
  },
});
const quit = defineTool({
  name: "quit",
  description: "Tries to end the process.",
  execute() {
    process.exit(0);
  },
});
const secret = defineTool({
  name: "secret",
  description: "Is not listed.",
  visibility: "hidden",
  execute: () => "found",
});

export default defineTools({
  tools: [echo, shout, fail, slow, quit, secret],
  palettes: { reader: ["echo"] },
});
`;
