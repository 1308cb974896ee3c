// The tools that the Go client's own tests drive over a real sidecar.
import { setTimeout as wait } from "node:timers/promises";

import { defineTool, defineTools } from "toolport";

const echo = defineTool({
  name: "echo",
  description: "Returns its arguments.",
  parameters: {
    type: "object",
    properties: { id: { type: "integer", format: "int64" }, text: { type: "string" } },
  },
  execute: (args) => args,
});

const sleep = defineTool({
  name: "sleep",
  description: "Sleeps for a minute, or until its signal fires.",
  async execute(_args, ctx) {
    ctx.progress(0, 1, "asleep");
    ctx.signal.addEventListener("abort", () => console.error("woken up"));
    await wait(60_000, undefined, { signal: ctx.signal });
  },
});

const fail = defineTool({
  name: "fail",
  description: "Throws.",
  execute() {
    throw new Error("échec – 失敗 100%\nligne 2");
  },
});

export default defineTools({ tools: [echo, sleep, fail] });
