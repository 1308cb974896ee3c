// Tools that the Python client's tests call in a real sidecar.
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";

console.log("printed while the tools load");

const started: string[] = [];
const aborted: string[] = [];
const hardText = "échec – 失敗 100%\nligne 2 %41 \t€";

export default defineTools({
  tools: [
    defineTool({
      name: "echo",
      description: "Returns its arguments.",
      parameters: { type: "object" },
      execute: (args) => args,
    }),
    defineTool({
      name: "numbers",
      description: "Returns numbers.",
      parameters: {
        type: "object",
        properties: { limit: { type: "integer", default: 20, minimum: 1 } },
      },
      execute: () => ({ count: 3, ratio: 0.5, big: 9007199254740993n }),
    }),
    defineTool({
      name: "fail",
      description: "Fails with a text that is hard to carry.",
      parameters: {},
      execute() {
        throw new Error(hardText);
      },
    }),
    defineTool({
      name: "wait",
      description: "Waits until it is aborted.",
      parameters: {},
      async execute(_args, ctx) {
        started.push(ctx.callId);
        ctx.progress(1, 2, "half-way");
        await new Promise<void>((resolve) => {
          ctx.signal.addEventListener("abort", () => {
            aborted.push(ctx.callId);
            resolve();
          });
        });
        throw ctx.signal.reason;
      },
    }),
    defineTool({
      name: "seen",
      description: "Tells which calls of wait have started and which were aborted.",
      parameters: {},
      execute: () => ({ started, aborted }),
    }),
    defineTool({
      name: "ask",
      description: "Asks the kernel what it is told to.",
      parameters: { type: "object" },
      runAware: true,
      execute: async (args, { run }) => ({ answer: await run?.ask("approve", args as never) }),
    }),
    defineTool({
      name: "count",
      description: "Says every number up to a limit.",
      parameters: { type: "object", properties: { limit: { type: "integer" } } },
      async *execute({ limit }) {
        for (let n = 0; n < Number(limit); n += 1) yield n;
      },
    }),
    defineTool({
      name: "mark",
      description: "Notes in a file that it ran, once it may go on.",
      parameters: {
        type: "object",
        properties: { file: { type: "string" }, after: { type: "string" } },
      },
      async execute({ file, after }) {
        appendFileSync(String(file), "ran\n");
        while (after !== undefined && !existsSync(String(after))) await sleep(20);
        return "marked";
      },
    }),
    defineTool({
      name: "picture",
      description: "Makes a picture.",
      parameters: {},
      execute: () => new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    }),
    defineTool({
      name: "settings",
      description: "Returns its settings.\n\nTheir names are ones that clients use themselves.",
      parameters: {
        type: "object",
        properties: {
          config: { type: "string", description: "Any text." },
          run_manager: { $ref: "#/$defs/count" },
          type: { type: "string" },
        },
        required: ["config"],
        $defs: { count: { type: "integer", minimum: 1 } },
      },
      category: "chart",
      safetyLevel: "safe",
      costUsd: 0.25,
      maxCallsPerInvocation: 3,
      execute: (args) => ({ args, big: 9007199254740993n }),
    }),
    defineTool({
      name: "secret",
      description: "Is not for the model.",
      parameters: {},
      visibility: "hidden",
      scope: "internal",
      execute: () => "shh",
    }),
    defineTool({
      name: "die",
      description: "Kills the sidecar.",
      parameters: {},
      execute() {
        process.kill(process.pid, "SIGKILL");
      },
    }),
  ],
});
