/**
 * A tools file whose tools wait for a file to appear, so that tests say when what ends. While
 * `LOAD_GATE` names a file it is not even loaded before that is there.
 */
export const gateTools: string = `
import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";

async function appears(path, signal) {
  while (!existsSync(path)) await wait(10, undefined, { signal });
}

const parameters = { type: "object", properties: { path: { type: "string" } } };
const until = defineTool({
  name: "until",
  description: "Waits until a file is there.",
  parameters,
  async execute({ path }, { signal, output }) {
    await output("started");
    try {
      await appears(path, signal);
    } finally {
      if (signal.aborted) process.stderr.write("until was aborted\\n");
    }
    return "there";
  },
});
const deaf = defineTool({
  name: "deaf",
  description: "Never ends, whatever it is told.",
  parameters,
  async execute(_args, { output }) {
    await output("started");
    await new Promise(() => setInterval(() => {}, 1000));
  },
});
const flood = defineTool({
  name: "flood",
  description: "Writes without end, and looks at nothing else.",
  parameters,
  async execute(_args, { output }) {
    for (;;) await output("and on ".repeat(100));
  },
});
const quick = defineTool({ name: "quick", description: "Ends at once.", execute: () => "done" });

process.stderr.write("loading\\n");
if (process.env.LOAD_GATE) await appears(process.env.LOAD_GATE);
export default defineTools({ tools: [until, deaf, flood, quick] });
`;
