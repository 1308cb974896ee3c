// The tools that the Go client's own tests drive over a real sidecar.
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

import { defineTool, defineTools, type JsonValue } from "toolport";

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

const ask = defineTool({
  name: "ask",
  description: "Asks the kernel, and answers what it says.",
  parameters: {
    type: "object",
    properties: { name: { type: "string" }, payload: {} },
    required: ["name"],
  },
  runAware: true,
  async execute({ name, payload }: { name: string; payload?: JsonValue }, { run, signal }) {
    signal.addEventListener("abort", () => console.error("woken up"));
    return { answer: await run?.ask(name, payload) };
  },
});

const talk = defineTool({
  name: "talk",
  description: "Says much, as fast as it can.",
  parameters: { type: "object", properties: { times: { type: "integer" } } },
  async execute({ times }: { times: number }, ctx) {
    for (let i = 0; i < times; i++) await ctx.output("x".repeat(1000));
    return "said";
  },
});

const append = defineTool({
  name: "append",
  description: "Appends a line to a file, and returns how many there are.",
  parameters: {
    type: "object",
    properties: { file: { type: "string" }, wait: { type: "boolean" } },
    required: ["file"],
  },
  async execute({ file, wait: waits = false }: { file: string; wait?: boolean }, ctx) {
    appendFileSync(file, "line\n");
    ctx.progress(1);
    if (waits) await wait(60_000, undefined, { signal: ctx.signal });
    return readFileSync(file, "utf8").split("\n").length - 1;
  },
});

export default defineTools({ tools: [echo, sleep, fail, ask, talk, append] });
