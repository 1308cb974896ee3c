// Tools that the Python client's tests call in a real sidecar.
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
      name: "die",
      description: "Kills the sidecar.",
      parameters: {},
      execute() {
        process.kill(process.pid, "SIGKILL");
      },
    }),
  ],
});
