import test from "ava";

import { ConfigurationError, createToolPort, defineTool, defineTools } from "../../src/index.ts";
import { loadToolsFile } from "../../src/config/tools-file.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import type { CallRequest } from "../../src/domain/call.ts";
import { createRuns } from "../../src/execution/runs.ts";
import { ask, requestOf } from "../execution/world.ts";
import { registry, toolsFile, until, world, writeToolsFile, type World } from "./world.ts";

/** Asks for a call and waits until its body says that it runs. */
async function begun(executor: World["executor"], name: string, rest: Partial<CallRequest> = {}) {
  const call = ask(executor, requestOf(name, rest));
  await until(() => call.events.length > 0 || call.end_ !== undefined);
  return call;
}

async function resultOf(executor: World["executor"], name: string, args: object = {}) {
  const call = ask(executor, requestOf(name, { argumentsJson: JSON.stringify(args) }));
  const outcome = await call.outcome();
  return outcome.ok ? outcome.result : outcome.error;
}

test.serial(
  "no thread exists before the first isolated call, and one serves the calls after it",
  async (t) => {
    const { executor, isolation } = world(t);
    t.is(await resultOf(executor, "here"), "0");
    t.is(isolation.size, 0);
    const first = JSON.parse(await resultOf(executor, "thread")) as { threadId: number };
    const second = JSON.parse(await resultOf(executor, "thread")) as { memory: number };
    t.not(first.threadId, 0);
    t.deepEqual(second, { threadId: first.threadId, memory: 2 });
    t.is(isolation.size, 1);
  },
);

test.serial(
  "a time limit counts from the body's begin, not from the start of its thread",
  async (t) => {
    const { executor } = world(t);
    const outcome = await ask(executor, requestOf("words", { timeoutMs: 100 })).outcome();
    t.like(outcome, { ok: true, result: "a line\nand another" });
  },
);

test.serial("a thread that nobody needs for a while ends", async (t) => {
  const { executor, isolation } = world(t, { idleMs: 1 });
  t.is(await resultOf(executor, "words"), "a line\nand another");
  await until(() => isolation.size === 0);
  t.is(await resultOf(executor, "words"), "a line\nand another");
});

test.serial("calls beyond the threads wait their turn", async (t) => {
  const { executor, isolation } = world(t, { maxWorkers: 1 });
  const calls = Array.from({ length: 20 }, async () => resultOf(executor, "thread"));
  const threads = (await Promise.all(calls)).map(
    (text) => JSON.parse(text) as { threadId: number; memory: number },
  );
  t.deepEqual(
    threads.map(({ memory }) => memory),
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
  t.is(isolation.size, 1);
});

test.serial(
  "a tool that spins for ever blocks nobody, and goes with the caller that leaves",
  async (t) => {
    const { executor, isolation } = world(t);
    const spinning = await begun(executor, "spin");
    t.is(await resultOf(executor, "here"), "0");
    t.is(await resultOf(executor, "words"), "a line\nand another");
    t.is(isolation.size, 2);
    spinning.ticket.leave("cancelled");
    t.is((await spinning.fault()).code, "CANCELLED");
    t.is(executor.inFlight, 1, "its body has not ended yet");
    await until(() => executor.inFlight === 0);
    await until(() => isolation.size === 1);
    t.is(await resultOf(executor, "words"), "a line\nand another");
  },
);

test.serial(
  "time limits hold against a tool that spins for ever, and its slot comes back",
  async (t) => {
    const { executor } = world(t);
    const outcome = await ask(executor, requestOf("spin", { timeoutMs: 300 })).outcome();
    t.like(outcome, { ok: false, errorKind: "TIMED_OUT" });
    await until(() => executor.inFlight === 0);
    const late = ask(executor, requestOf("spin"), 300);
    t.is((await late.fault()).code, "DEADLINE_EXCEEDED");
    await until(() => executor.inFlight === 0);
  },
);

const hears = test.macro({
  async exec(t, name: string) {
    const { executor, isolation, lines } = world(t, { graceMs: 60_000 });
    const call = await begun(executor, name);
    call.ticket.leave("cancelled");
    await until(() => executor.inFlight === 0);
    t.is(isolation.size, 1, "the thread stays");
    t.is(await resultOf(executor, "words"), "a line\nand another");
    t.deepEqual(lines, []);
  },
  title: (_given, name: string) => `${name} hears its signal and ends by itself`,
});
test.serial(hears, "listens");
test.serial(hears, "polls");
test.serial(hears, "polls-throwing");
test.serial(hears, "endless");
test.serial(hears, "finishes");

test.serial("a tool that ignores its signal is ended after the grace", async (t) => {
  const { executor, isolation } = world(t, { maxWorkers: 1 });
  const deaf = await begun(executor, "deaf");
  deaf.ticket.leave("disconnected");
  t.is(await resultOf(executor, "words"), "a line\nand another");
  t.is(isolation.size, 1, "the one that ignored it is gone");
  t.is(executor.inFlight, 0);
});

test.serial("a call that leaves while it waits for a thread never starts", async (t) => {
  const { executor } = world(t, { maxWorkers: 1, graceMs: 60_000 });
  const running = await begun(executor, "listens");
  const waiting = ask(executor, requestOf("thread"));
  waiting.ticket.leave("cancelled");
  t.is((await waiting.fault()).code, "CANCELLED");
  t.is(executor.inFlight, 1);
  running.ticket.leave("cancelled");
  const { memory } = JSON.parse(await resultOf(executor, "thread")) as { memory: number };
  t.is(memory, 1);
});

test.serial("a call that leaves while its thread loads never starts", async (t) => {
  const { executor, isolation } = world(t, { maxWorkers: 1, graceMs: 60_000 });
  const early = ask(executor, requestOf("thread"));
  early.ticket.leave("cancelled");
  await until(() => executor.inFlight === 0);
  const { memory } = JSON.parse(await resultOf(executor, "thread")) as { memory: number };
  t.is(memory, 1);
  t.is(isolation.size, 1);
});

const endsItsCall = test.macro({
  async exec(t, name: string, error: RegExp, args: object = {}) {
    const { executor, lines } = world(t, {
      maxMemoryMb: 128,
    });
    const other = await begun(executor, "deaf");
    const outcome = await ask(
      executor,
      requestOf(name, { argumentsJson: JSON.stringify(args) }),
    ).outcome();
    t.like(outcome, { ok: false, errorKind: "HOST_LOST" });
    t.regex(outcome.ok ? "" : outcome.error, error);
    t.is(other.end_, undefined, "another call goes on");
    t.true(lines.some(({ event }) => event === "thread_lost"));
    t.is(await resultOf(executor, "words"), "a line\nand another");
  },
  title: (given) => `a thread that ${given} ends its own call, and no other`,
});
test.serial(
  "exits",
  endsItsCall,
  "exits",
  /^HostLost: the worker thread of "exits" ended with exit code 3$/u,
  {
    code: 3,
  },
);
test.serial("exits as if all were well", endsItsCall, "exits", /ended with exit code 0$/u, {
  code: 0,
});
for (const what of ["objects", "numbers", "arrays", "entries", "text", "buffers"]) {
  const error = /^HostLost: the worker thread of "hungry" ran out of memory$/u;
  test.serial(`runs out of memory for ${what}`, endsItsCall, "hungry", error, { what });
}
test.serial(
  "fails where its guard was taken away",
  endsItsCall,
  "unguarded",
  /^HostLost: .*"unguarded" failed with Error: unguarded$/u,
);

test.serial("what a tool left behind throws into the log, with the tool's name", async (t) => {
  const { executor, lines } = world(t);
  t.is(await resultOf(executor, "strays"), "still here");
  t.deepEqual(
    lines.map(({ event, fields }) => [event, fields["tool"], String(fields["error"])]),
    [
      ["stray_rejection", "strays", "OutOfTickets: from a promise"],
      ["stray_error", "strays", "OutOfTickets: from a timer"],
    ],
  );
});

test.serial(
  "a thread that an earlier call blocks is replaced, and the call runs elsewhere",
  async (t) => {
    const { executor, isolation } = world(t, { maxWorkers: 1 });
    t.is(await resultOf(executor, "blocks-later"), "returned");
    t.is(await resultOf(executor, "words"), "a line\nand another");
    t.is(isolation.size, 1);
  },
);

test.serial("output waits for its reader across the threads", async (t) => {
  const { executor } = world(t);
  const call = ask(executor, requestOf("writes", { argumentsJson: '{"count":2000}' }));
  call.takes = false;
  await until(() => call.events.length > 0);
  // The caller took one and no more: what follows is bounded however long it lasts.
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(call.events.length, 1);
  t.is(call.end_, undefined);
  call.takes = true;
  call.ticket.resume();
  t.like(await call.outcome(), { ok: true, result: "all" });
  t.is(call.events.length, 2000);
});

test.serial("output that nobody awaits and nobody reads is the call's failure", async (t) => {
  const { executor } = world(t);
  const call = ask(executor, requestOf("blurts", { argumentsJson: '{"count":100000}' }));
  call.takes = false;
  // 16 MiB may wait for a reader; the body hears of it, and its thread is free again.
  await until(() => executor.inFlight === 1 && call.events.length > 0);
  t.is(await resultOf(executor, "words"), "a line\nand another");
  call.takes = true;
  call.ticket.resume();
  t.like(await call.outcome(), { ok: false, errorKind: "RESULT_TOO_LARGE" });
});

test.serial("a flood of reports is merged, and the newest one arrives", async (t) => {
  const { executor } = world(t);
  const call = ask(executor, requestOf("reports", { argumentsJson: '{"count":200000}' }));
  t.like(await call.outcome(), { ok: true, result: "all" });
  t.true(call.events.length < 200_000);
  t.like(call.events.at(-1), { kind: "progress", done: 200_000, total: 200_000 });
  const done = call.events.map((event) => (event.kind === "progress" ? event.done : 0));
  t.deepEqual(
    done,
    done.toSorted((a, b) => a - b),
  );
});

test.serial("a run-aware tool asks the kernel from its thread", async (t) => {
  const { executor } = world(t);
  const runs = createRuns({ executor, digest: registry.digest, journal: undefined });
  const ends: unknown[] = [];
  const session = runs.open(
    { runId: "r1", expectedDigest: "", onDisconnect: "abort", metadata: {} },
    {
      principal: "",
      opened() {},
      event: () => true,
      end: (_tag, callId, end) => ends.push([callId, end]),
      ask({ requestId, name, payloadJson }) {
        if (name === "double") {
          session.reply(requestId, { ok: true, resultJson: `[${payloadJson},${payloadJson}]` });
        } else if (name === "refuse") {
          session.reply(requestId, { ok: false, error: "not today" });
        }
      },
      unask() {},
      close() {},
    },
  );
  session.call(1n, requestOf("asks", { callId: "a" }));
  session.call(2n, requestOf("asks-forever", { callId: "b" }));
  await until(() => ends.length === 1);
  const n = '{"n":9007199254740993}';
  t.like(ends[0], {
    0: "a",
    1: {
      kind: "outcome",
      outcome: {
        ok: true,
        result: `["r1",true,[${n},${n}],"ToolPortError HOST_ERROR: not today"]`,
      },
    },
  });
  session.leave("disconnected");
  await until(() => executor.inFlight === 0);
});

test.serial("the key for deduplicating services is that of the process", async (t) => {
  const { executor } = world(t);
  const request = requestOf("key", { runId: "r", callId: "c" });
  const outcome = await ask(executor, request).outcome();
  const again = await ask(executor, { ...request }).outcome();
  t.true(outcome.ok && again.ok && outcome.result === again.result);
  t.regex(outcome.ok ? outcome.result : "", /^[0-9a-f]{64}$/u);
});

test.serial("closing ends what runs, whatever it does, and nothing starts after", async (t) => {
  const { executor, isolation } = world(t, { graceMs: 60_000 });
  const spinning = await begun(executor, "spin");
  const deaf = await begun(executor, "deaf");
  const waiting = ask(executor, requestOf("words"));
  await executor.drain(0);
  t.is(isolation.size, 0);
  for (const call of [spinning, deaf, waiting]) t.is((await call.fault()).code, "DRAINING");
  await until(() => executor.inFlight === 0);
  await isolation.close();
});

test.serial(
  "a tools file that fails in a thread is the outcome of its calls, and can be mended",
  async (t) => {
    const path = writeToolsFile(
      t,
      `import { isMainThread } from "node:worker_threads";
     import { existsSync } from "node:fs";
     import { defineTool, defineTools } from "toolport";
     if (!isMainThread && !existsSync(import.meta.filename + ".mended")) throw new TypeError("no thread");
     const tool = (name, execute) =>
       defineTool({ name, description: name, parameters: {}, isolate: "worker", execute });
     export default defineTools({ tools: [tool("one", () => 1)] });`,
    );
    const { tools } = await loadToolsFile(path);
    const set = buildRegistry({ tools });
    const { executor, lines } = world(t, { toolsFile: path }, set);
    const outcome = await ask(executor, requestOf("one")).outcome();
    t.like(outcome, { ok: false, errorKind: "HOST_LOST" });
    t.is(
      outcome.ok ? "" : outcome.error,
      'HostLost: the worker thread of "one" cannot be used: tools.mjs:4 throws while it is loaded: TypeError: no thread',
    );
    t.true(lines.some(({ event, level }) => event === "thread_failed" && level === "error"));
    const { writeFileSync } = await import("node:fs");
    writeFileSync(`${path}.mended`, "");
    t.is(await resultOf(executor, "one"), "1");
  },
);

test.serial("a tools file that defines another set in a thread is not used", async (t) => {
  const path = writeToolsFile(
    t,
    `import { isMainThread } from "node:worker_threads";
     import { defineTool, defineTools } from "toolport";
     export default defineTools({ tools: [defineTool({
       name: "one", description: isMainThread ? "Here." : "There.", parameters: {},
       isolate: "worker", execute: () => 1,
     })] });`,
  );
  const { tools } = await loadToolsFile(path);
  const set = buildRegistry({ tools });
  const { executor } = world(t, { toolsFile: path }, set);
  t.regex(
    await resultOf(executor, "one"),
    /^HostLost: .* cannot be used: tools\.mjs defines another set of tools here \(sha256:/u,
  );
});

test.serial("a set of no file can't have isolated tools", (t) => {
  const tool = defineTool({
    name: "crunch",
    description: "Counts.",
    parameters: {},
    isolate: "worker",
    execute: () => 1,
  });
  const definition = defineTools({ tools: [tool] });
  const error = t.throws(() => createToolPort(definition), { instanceOf: ConfigurationError });
  t.is(
    error.message,
    'the tool "crunch" is isolated, so worker threads must be able to load it: define it in a tools file, and give createToolPort that file as toolsFile',
  );
  t.notThrows(() => createToolPort(definition, { toolsFile }));
});
