import { threadId } from "node:worker_threads";

import { z } from "zod";

import { defineTools, type ToolsDefinition } from "../../../src/define-tools.ts";
import type { ContentPart } from "../../../src/domain/call.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { ToolContext } from "../../../src/domain/tool.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";

type Body = (args: JsonObject, context: ToolContext) => unknown;

/** Tools without parameters to speak of, each isolated. */
function isolated(bodies: Readonly<Record<string, Body>>, more: object = {}): unknown[] {
  return Object.entries(bodies).map(([name, execute]) =>
    defineTool({
      name,
      description: "A tool of a test.",
      parameters: { type: "object" },
      isolate: "worker",
      execute,
      ...more,
    }),
  );
}

class OutOfTickets extends Error {
  override name = "OutOfTickets";
}

class Plain extends Error {}

const results = {
  echo: (args) => args,
  words: () => "a line\nand another",
  nothing: () => undefined,
  digits: () => ({ id: 9007199254740993n, ids: [1n, 2] }),
  dated: () => new Date(0),
  bytes: () => new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1]).subarray(0, 4),
  buffer: () => Buffer.from("shared with many others"),
  part: (): ContentPart => ({ mimeType: "audio/wav", data: new Uint8Array(3), name: "a.wav" }),
  link: (): ContentPart => ({ mimeType: "text/html", uri: "https://example.com/" }),
  blob: () => new Blob(["<p>hello</p>"], { type: "text/html" }),
  cyclic: () => {
    const list: unknown[] = [];
    list.push(list);
    return list;
  },
  getter: () => ({
    get it(): never {
      throw new OutOfTickets("none");
    },
  }),
  functions: () => ({ call: () => 1, [Symbol("x")]: 2, kept: 3 }),
} satisfies Record<string, Body>;

const failures = {
  "throws-error": () => {
    throw new Error("plain words");
  },
  "throws-named": async () => {
    throw new OutOfTickets("sold out");
  },
  "throws-class": () => {
    throw new Plain("");
  },
  "throws-text": () => {
    throw "a text";
  },
  "throws-object": () => {
    throw { message: "an object", code: 7 };
  },
  "throws-many": () => {
    throw new AggregateError([new TypeError("one"), new OutOfTickets("two")], "both");
  },
  "throws-abort": () => {
    throw new DOMException("not the call's own", "AbortError");
  },
  "throws-progress": (_args, context) => context.progress(Number.NaN),
} satisfies Record<string, Body>;

const streams = {
  *counts() {
    yield "one";
    yield { two: 2n };
    yield new Uint8Array([3]);
  },
  async *concludes(_args: JsonObject, context: ToolContext) {
    context.progress(1, 3, "begun");
    yield 1;
    context.progress(2, 3);
    yield { mimeType: "image/png", data: Buffer.from("png"), name: "p.png" };
    return "done";
  },
  *stumbles() {
    yield 1;
    throw new OutOfTickets("half-way");
  },
  *unwritable() {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    yield loop;
  },
  hands: async () => twoNumbers(),
  outputs: async (_args, { output }) => {
    await output("text");
    await output({ a: [1n] });
    await output({ mimeType: "text/plain", uri: "file:///tmp/a" });
    return null;
  },
} satisfies Record<string, Body>;

function* twoNumbers() {
  yield 1;
  yield 2;
}

const contexts = {
  context: ({ deep }, context) => {
    const { runId, callId, toolName, attempt, metadata, run, signal } = context;
    const { aborted } = signal;
    return { runId, callId, toolName, attempt, metadata, aborted, run: run ?? null, deep };
  },
  key: (_args, { idempotencyKey }) => idempotencyKey,
  thread: () => ({ threadId, memory: (visits += 1) }),
} satisfies Record<string, Body>;

let visits = 0;

const lives = {
  spin: (_args, context) => {
    context.progress(1);
    for (;;);
  },
  polls: (_args, context) => {
    context.progress(1);
    while (!context.signal.aborted);
    throw context.signal.reason;
  },
  "polls-throwing": (_args, context) => {
    const { signal } = context;
    context.progress(1);
    for (;;) signal.throwIfAborted();
  },
  listens: (_args, { progress, signal }) => {
    progress(1);
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  },
  finishes: (_args, { progress, signal }) => {
    progress(1);
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve("after all")));
  },
  deaf: (_args, { progress }) => {
    progress(1);
    return new Promise(() => {});
  },
  async *endless(_args, { progress }) {
    progress(1);
    try {
      for (;;) {
        yield "more";
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    } finally {
      process.emitWarning("the generator was told to return");
    }
  },
  exits: ({ code }) => process.exit(Number(code)),
  hungry: ({ what }) => {
    const held: unknown[] = [];
    const entries = new Map<number, object>();
    for (let i = 0; ; i += 1) {
      if (what === "objects") held.push(Array.from({ length: 1000 }, () => ({})));
      else if (what === "numbers") held.push(i);
      else if (what === "arrays") held.push(Array.from<number>({ length: 5_000_000 }).fill(0.5));
      else if (what === "entries") entries.set(i, {});
      else if (what === "text") held.push(`${i}`.repeat(1000).split("").join(" "));
      else held.push(Buffer.alloc(1 << 20, 1));
    }
  },
  strays: async () => {
    setTimeout(() => {
      throw new OutOfTickets("from a timer");
    }, 1);
    void Promise.reject(new OutOfTickets("from a promise"));
    await new Promise((resolve) => setTimeout(resolve, 30));
    return "still here";
  },
  unguarded: () => {
    process.removeAllListeners("uncaughtException");
    setTimeout(() => {
      throw new OutOfTickets("unguarded");
    }, 1);
    return new Promise(() => {});
  },
  "blocks-later": () => {
    setImmediate(() => {
      for (;;);
    });
    return "returned";
  },
  prints: () => {
    console.log("printed by a tool");
    process.stdout.write("written by a tool\n");
    return "quiet";
  },
  writes: async ({ count }, { output }) => {
    const line = "x".repeat(1024);
    for (let i = 0; i < Number(count); i += 1) {
      await output(line);
      written[0] = i + 1;
    }
    return "all";
  },
  written: () => written[0],
  blurts: ({ count }, { output }) => {
    const line = "x".repeat(64 * 1024);
    for (let i = 0; i < Number(count); i += 1) void output(line);
    return "all";
  },
  reports: ({ count }, { progress }) => {
    for (let i = 1; i <= Number(count); i += 1) progress(i, Number(count));
    return "all";
  },
} satisfies Record<string, Body>;

const written = [0];

const aware = {
  asks: async (_args, { run }) => [
    run?.id,
    run?.live,
    await run?.ask("double", { n: 9007199254740993n }),
    await run?.ask("refuse").catch((error: Error & { code?: string }) => {
      return `${error.name} ${error.code}: ${error.message}`;
    }),
  ],
  "asks-forever": async (_args, { run }) => run?.ask("silence"),
} satisfies Record<string, Body>;

const visit = defineTool({
  name: "visit",
  description: "Has arguments that become what can't be copied between threads.",
  parameters: z.object({
    url: z.string().transform((text) => new URL(text)),
    times: z.number().default(2),
  }),
  isolate: "worker",
  execute: ({ url, times }) => `${url instanceof URL} ${url.host} ${times}`,
});

const here = defineTool({
  name: "here",
  description: "Runs in the process itself.",
  parameters: { type: "object" },
  execute: () => threadId,
});

const definition: ToolsDefinition = defineTools({
  tools: [
    here,
    visit,
    ...isolated({ ...results, ...failures, ...streams, ...contexts, ...lives }),
    ...isolated(aware, { runAware: true }),
  ],
});

export default definition;
