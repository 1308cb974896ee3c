/**
 * A tools file for tests that end its sidecar in every way. Each body begins by appending a line of
 * its own to the file that `STARTS` names, synced to the disk: `tool run call attempt`. Each result
 * bears a number of its own, so that no two starts come to the same outcome.
 */
export const faultyTools: string = `
import { randomUUID } from "node:crypto";
import { fsyncSync, openSync, writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";

const starts = openSync(process.env.STARTS, "a", 0o600);

function begin(ctx) {
  writeSync(starts, [ctx.toolName, ctx.runId, ctx.callId, ctx.attempt].join(" ") + "\\n");
  fsyncSync(starts);
  return ctx.runId + " " + ctx.callId + " " + randomUUID();
}

const parameters = {
  type: "object",
  properties: { ms: { type: "number" }, bytes: { type: "number" } },
};
const pad = ({ bytes = 0 }) => " ".repeat(bytes);

const pay = defineTool({
  name: "pay",
  description: "Ends at once.",
  parameters,
  execute: (args, ctx) => begin(ctx) + pad(args),
});
const transfer = defineTool({
  name: "transfer",
  description: "Takes its time, and stops when it is told to.",
  parameters,
  async execute(args, ctx) {
    const result = begin(ctx);
    await wait(args.ms, undefined, { signal: ctx.signal });
    return result;
  },
});
const commit = defineTool({
  name: "commit",
  description: "Takes its time and can't be stopped; tells how far it is.",
  parameters,
  async *execute(args, ctx) {
    const result = begin(ctx);
    ctx.progress(1, 2);
    yield "half";
    await wait(args.ms);
    return { result };
  },
});
const refuse = defineTool({
  name: "refuse",
  description: "Fails after a while.",
  parameters,
  async execute(args, ctx) {
    const result = begin(ctx);
    await wait(args.ms);
    throw new RangeError(result);
  },
});
const put = defineTool({
  name: "put",
  description: "May run again.",
  parameters,
  idempotent: true,
  async execute(args, ctx) {
    const result = begin(ctx);
    await wait(args.ms, undefined, { signal: ctx.signal });
    return result;
  },
});
const apart = defineTool({
  name: "apart",
  description: "Runs in a thread of its own.",
  parameters,
  isolate: "worker",
  execute: (args, ctx) => begin(ctx),
});

export default defineTools({ tools: [pay, transfer, commit, refuse, put, apart] });
`;

/** Whether a tool of {@link faultyTools} may run again. */
export function isIdempotent(name: string): boolean {
  return name === "put";
}
