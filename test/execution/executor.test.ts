import test from "ava";
import type { ToolContext } from "../../src/domain/tool.ts";
import { ask, executorOf, gate, requestOf, until, Witness } from "./world.ts";

const never = (): Promise<never> => new Promise(() => {});

test("a result ends the call with its text, and nothing is left in flight", async (t) => {
  const executor = executorOf({ add: { execute: (args) => (args as { a: number }).a + 1 } });
  const outcome = await ask(executor, requestOf("add", { argumentsJson: '{"a":1}' })).outcome();
  t.like(outcome, { ok: true, result: "2", attempt: 1, replayed: false });
  t.true(outcome.durationMs > 0);
  t.is(executor.inFlight, 0);
});

const results: readonly (readonly [unknown, string])[] = [
  [undefined, "null"],
  [null, "null"],
  ["", ""],
  [0, "0"],
  [false, "false"],
  [[], "[]"],
  [() => 1, "null"],
  [5n, "5"],
  [{ block: 12n, list: [1n] }, '{"block":12,"list":[1]}'],
  [new Uint8Array([1, 2]), "[application/octet-stream, 2 bytes]"],
];
for (const [value, text] of results) {
  test(`a result of ${String(value)} (${typeof value}) reads ${JSON.stringify(text)}`, async (t) => {
    const outcome = await ask(
      executorOf({ t: { execute: () => value } }),
      requestOf("t"),
    ).outcome();
    t.like(outcome, { ok: true, result: text });
  });
}

test("bytes travel as content, not as text", async (t) => {
  const executor = executorOf({
    t: { execute: async () => new Blob(["hé"], { type: "text/plain" }) },
  });
  const outcome = await ask(executor, requestOf("t")).outcome();
  t.is(outcome.content[0]?.mimeType, "text/plain");
  t.is(Buffer.from(outcome.content[0]?.data ?? []).toString(), "hé");
});

class QuotaExceeded extends Error {}
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;
const failures: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    "its class and message",
    () => {
      throw new QuotaExceeded("3 of 3 used");
    },
    /^QuotaExceeded: 3 of 3 used$/,
  ],
  [
    "an empty message with the space kept",
    () => {
      throw new TypeError("");
    },
    /^TypeError: $/,
  ],
  [
    "a thrown string",
    () => {
      throw "boom";
    },
    /^Error: boom$/,
  ],
  [
    "every part of an AggregateError",
    () => {
      throw new AggregateError([new Error("a"), new TypeError("b")]);
    },
    /^AggregateError: Error: a; TypeError: b$/,
  ],
  [
    "a message that is an object",
    () => {
      throw Object.assign(new Error("x"), { message: { code: 7 } });
    },
    /^Error: \{"code":7\}$/,
  ],
  [
    "a message whose getter throws",
    () => {
      throw Object.defineProperty(new RangeError("x"), "message", {
        get() {
          throw new Error("inner");
        },
      });
    },
    /^RangeError: \(its message cannot be read\)$/,
  ],
  [
    "an AbortError that its own signal did not cause",
    () => {
      throw new DOMException("stop", "AbortError");
    },
    /^AbortError: stop$/,
  ],
  [
    "a result with a cycle, naming the tool",
    () => cyclic,
    /^ResultUnserializable: the result of "t" has no JSON form/,
  ],
  [
    "a result whose toJSON throws",
    () => ({
      toJSON() {
        throw new Error("no");
      },
    }),
    /no JSON form \(Error: no\)/,
  ],
];
for (const [what, execute, text] of failures) {
  test(`a failure tells ${what}`, async (t) => {
    const executor = executorOf({ t: { execute } });
    const outcome = await ask(executor, requestOf("t")).outcome();
    t.false(outcome.ok);
    t.regex(outcome.ok ? "" : outcome.error, text);
    t.true((await ask(executor, requestOf("t")).outcome()).durationMs > 0);
  });
}

const badArguments: readonly (readonly [string, RegExp])[] = [
  ['{"q":', /not usable JSON/],
  ["[1]", /must be a JSON object, got an array/],
  ['"x"', /got a string/],
  ['{"a":1,"a":2}', /"a" is given twice/],
  ['{"a":"\\ud800"}', /lone surrogate/],
  ["[".repeat(100_000), /not usable JSON/],
  [`{"a":${"[".repeat(600)}${"]".repeat(600)}}`, /nest deeper/],
];
for (const [argumentsJson, text] of badArguments) {
  test(`arguments ${argumentsJson.slice(0, 20)} are an outcome, and the tool does not run`, async (t) => {
    const executor = executorOf({ t: { execute: () => t.fail() } });
    const outcome = await ask(executor, requestOf("t", { argumentsJson })).outcome();
    t.like(outcome, { ok: false, errorKind: "INVALID_ARGUMENTS", attempt: 0 });
    t.regex(outcome.ok ? "" : outcome.error, text);
  });
}

for (const argumentsJson of ["", "  \n", "null", "{}"]) {
  test(`arguments ${JSON.stringify(argumentsJson)} mean none`, async (t) => {
    const executor = executorOf({ t: { execute: (args) => args } });
    t.like(await ask(executor, requestOf("t", { argumentsJson })).outcome(), { result: "{}" });
  });
}

test("a request without a call id, with a spent deadline or for another set starts nothing", async (t) => {
  const executor = executorOf({ t: { execute: () => t.fail() } });
  t.is((await ask(executor, requestOf("t", { callId: "" })).fault()).code, "CALL_ID_MISSING");
  t.is((await ask(executor, requestOf("t"), 0).fault()).code, "DEADLINE_EXCEEDED");
  const other = await ask(executor, requestOf("t", { expectedDigest: "sha256:x" })).fault();
  t.is(other.code, "DIGEST_MISMATCH");
  t.is(other.started, "no");
});

test("a run-aware tool outside a live run is a fault", async (t) => {
  const executor = executorOf({ t: { execute: () => t.fail(), runAware: true } });
  const fault = await ask(executor, requestOf("t")).fault();
  t.is(fault.code, "RUN_REQUIRED");
  t.regex(fault.message, /run-aware tool .* context/);
});

test("a cancel fires the signal in the same turn and does not wait for a deaf tool", async (t) => {
  let context: ToolContext | undefined;
  const deaf = gate();
  const executor = executorOf({
    t: {
      execute: (_, given) => {
        context = given;
        return deaf.promise;
      },
    },
  });
  const call = ask(executor, requestOf("t"));
  const signal = context?.signal;
  call.ticket.leave("cancelled");
  t.true(signal?.aborted);
  t.like(call.end_, { kind: "fault", fault: { code: "CANCELLED", started: "yes" } });
  t.is(executor.inFlight, 1, "the deaf body keeps its place");
  deaf.open();
  await until(() => executor.inFlight === 0);
});

test("a signal asked for after the cancel has fired already", async (t) => {
  const deaf = gate();
  let context: ToolContext | undefined;
  const executor = executorOf({
    t: {
      execute: (_, given) => {
        context = given;
        return deaf.promise;
      },
    },
  });
  ask(executor, requestOf("t")).ticket.leave("disconnected");
  t.true(context?.signal.aborted);
  t.like(context?.signal.reason, { name: "AbortError" });
  deaf.open();
});

test("the caller's deadline is a fault, whatever the tool awaits", async (t) => {
  const executor = executorOf({ t: { execute: never } });
  const fault = await ask(executor, requestOf("t"), 20).fault();
  t.like(fault, { code: "DEADLINE_EXCEEDED", started: "yes" });
});

test("the request's time limit is an outcome, and the late result reaches nobody", async (t) => {
  const late = gate<string>();
  const lines: string[] = [];
  const executor = executorOf(
    { t: { execute: () => late.promise } },
    { log: (_level, event) => lines.push(event) },
  );
  const call = ask(executor, requestOf("t", { timeoutMs: 20 }));
  t.like(await call.outcome(), { ok: false, errorKind: "TIMED_OUT", attempt: 1 });
  late.open("too late");
  await until(() => executor.inFlight === 0);
  t.deepEqual(lines, ["late result dropped"]);
});

test("progress extends the tool's own limit up to its cap", async (t) => {
  const execute = async (_: unknown, context: ToolContext): Promise<void> => {
    for (let done = 1; !context.signal.aborted; done += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      context.progress(done);
    }
  };
  const executor = executorOf({ t: { execute, limits: { timeoutMs: 200, maxTimeoutMs: 500 } } });
  const from = performance.now();
  const outcome = await ask(executor, requestOf("t")).outcome();
  t.like(outcome, { errorKind: "TIMED_OUT" });
  t.true(performance.now() - from >= 499);
});

test("a wait of more than 2^31 ms does not fire at once", async (t) => {
  const executor = executorOf({
    t: {
      execute: () => new Promise((resolve) => setTimeout(resolve, 20, "ok")),
      limits: { timeoutMs: 2 ** 33 },
    },
  });
  t.like(await ask(executor, requestOf("t"), 2 ** 40).outcome(), { result: "ok" });
});

test("a generator's yields are output and its return value the result", async (t) => {
  const executor = executorOf({
    t: {
      execute: async function* () {
        yield "working";
        yield { s: 1 };
        return "answer";
      },
    },
    last: {
      execute: function* () {
        yield "one";
        yield 3;
      },
    },
    none: { execute: async function* () {} },
    made: {
      execute: async () =>
        (async function* () {
          yield "inner";
        })(),
    },
  });
  const call = ask(executor, requestOf("t"));
  t.like(await call.outcome(), { result: "answer" });
  t.deepEqual(call.events, [
    { kind: "text", text: "working" },
    { kind: "json", json: '{"s":1}' },
  ]);
  t.like(await ask(executor, requestOf("last")).outcome(), { result: "3" });
  t.like(await ask(executor, requestOf("none")).outcome(), { result: "null" });
  t.like(await ask(executor, requestOf("made")).outcome(), { result: "inner" });
});

test("a generator that throws keeps its output and ends with the error", async (t) => {
  const executor = executorOf({
    t: {
      execute: async function* () {
        yield "kept";
        throw new Error("then");
      },
    },
  });
  const call = ask(executor, requestOf("t"));
  t.like(await call.outcome(), { ok: false, error: "Error: then" });
  t.is(call.events.length, 1);
});

test("a cancelled generator runs its finally block and yields no more", async (t) => {
  let cleaned = false;
  let ticks = 0;
  const executor = executorOf({
    t: {
      execute: async function* () {
        try {
          for (;;) {
            ticks += 1;
            yield "tick";
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        } finally {
          cleaned = true;
        }
      },
    },
  });
  const call = ask(executor, requestOf("t"));
  await until(() => call.events.length >= 3);
  call.ticket.leave("cancelled");
  await until(() => cleaned && executor.inFlight === 0);
  const seen = ticks;
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(ticks, seen);
});

test("a generator goes no faster than its reader", async (t) => {
  let made = 0;
  const executor = executorOf({
    t: {
      execute: async function* () {
        for (;;) {
          made += 1;
          yield "x";
        }
      },
    },
  });
  const slow = new Witness();
  slow.takes = false;
  const call = ask(executor, requestOf("t"), undefined, slow);
  await until(() => slow.events.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.true(made <= 3);
  call.ticket.resume();
  await until(() => slow.events.length === 2);
  call.ticket.leave("cancelled");
  await until(() => executor.inFlight === 0);
});

test("a burst of progress before the return arrives whole, in order and before the end", async (t) => {
  const executor = executorOf({
    t: {
      execute: (_, context) => {
        for (let n = 1; n <= 1000; n += 1) context.progress(n, 1000);
        return "done";
      },
    },
  });
  const slow = new Witness();
  slow.takes = false;
  const call = ask(executor, requestOf("t"), undefined, slow);
  while (!slow.end_) call.ticket.resume();
  t.deepEqual(
    slow.events.map((event) => (event.kind === "progress" ? event.done : 0)),
    Array.from({ length: 1000 }, (_, n) => n + 1),
  );
  t.like(await call.outcome(), { result: "done" });
});

test("output that runs too far ahead of its reader fails the call instead of the memory", async (t) => {
  const executor = executorOf({
    t: {
      execute: async (_, context) => {
        for (;;) {
          void context.output("x".repeat(1 << 20));
          await Promise.resolve();
          if (context.signal.aborted) return;
        }
      },
    },
  });
  const slow = new Witness();
  slow.takes = false;
  const call = ask(executor, requestOf("t"), undefined, slow);
  await until(() => executor.inFlight === 0);
  slow.takes = true;
  call.ticket.resume();
  t.like(await call.outcome(), { errorKind: "RESULT_TOO_LARGE" });
});

test("a result over the limit is refused with its size, or sent to who takes chunks", async (t) => {
  const executor = executorOf({ t: { execute: () => "x".repeat(2000) } }, { maxResultBytes: 1000 });
  const refused = await ask(executor, requestOf("t")).outcome();
  t.regex(refused.ok ? "" : refused.error, /ResultTooLarge: .* 2000 bytes, 1000/);
  t.true((await ask(executor, requestOf("t", { acceptChunks: true })).outcome()).ok);
});

test("no more calls of a tool run than it allows, and the others wait in order", async (t) => {
  const gates = [gate(), gate(), gate()];
  const begun: number[] = [];
  const executor = executorOf({
    t: {
      execute: (args) => {
        const { n } = args as { n: number };
        begun.push(n);
        return gates[n]?.promise;
      },
      limits: { concurrency: 1 },
    },
    free: { execute: () => "free" },
  });
  const calls = [0, 1, 2].map((n) =>
    ask(executor, requestOf("t", { argumentsJson: `{"n":${n}}` })),
  );
  t.like(await ask(executor, requestOf("free")).outcome(), { result: "free" });
  t.deepEqual(begun, [0]);
  calls[1]?.ticket.leave("cancelled");
  t.like(await calls[1]?.fault(), { code: "CANCELLED", started: "no" });
  gates[0]?.open();
  await calls[0]?.outcome();
  await until(() => begun.length === 2);
  t.deepEqual(begun, [0, 2]);
  gates[2]?.open();
  await calls[2]?.outcome();
  t.is(executor.inFlight, 0);
});

test("a full queue answers OVERLOADED with a delay", async (t) => {
  const executor = executorOf({ t: { execute: never } }, { slots: { inFlight: 1, queued: 1 } });
  ask(executor, requestOf("t"));
  ask(executor, requestOf("t"));
  const fault = await ask(executor, requestOf("t")).fault();
  t.like(fault, { code: "OVERLOADED", started: "no", retryAfterMs: 1000 });
});

test("a tool that times out deaf keeps its place until it really ends", async (t) => {
  const deaf = gate();
  let begun = 0;
  const executor = executorOf({
    t: {
      execute: () => {
        begun += 1;
        return deaf.promise;
      },
      limits: { concurrency: 1 },
    },
  });
  await ask(executor, requestOf("t", { timeoutMs: 10 })).outcome();
  const next = ask(executor, requestOf("t"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(begun, 1);
  deaf.open();
  await next.outcome();
  t.is(begun, 2);
});

test("draining takes no new calls, lets the others end, then aborts what is left", async (t) => {
  const slow = gate<string>();
  const executor = executorOf({ slow: { execute: () => slow.promise }, deaf: { execute: never } });
  const ends = ask(executor, requestOf("slow"));
  const hangs = ask(executor, requestOf("deaf"));
  const drained = executor.drain(100);
  t.is((await ask(executor, requestOf("slow")).fault()).code, "DRAINING");
  slow.open("fine");
  t.like(await ends.outcome(), { result: "fine" });
  await drained;
  t.like(await hangs.fault(), { code: "DRAINING", started: "yes" });
});

test("without a run id the same call id runs each time", async (t) => {
  let runs = 0;
  const executor = executorOf({ t: { execute: () => (runs += 1) } });
  await ask(executor, requestOf("t", { callId: "c" })).outcome();
  await ask(executor, requestOf("t", { callId: "c" })).outcome();
  t.is(runs, 2);
});

test("a body that only writes ends with its call, and never starves the loop", async (t) => {
  let isOver = false;
  const executor = executorOf({
    heedless: {
      execute: async (_, context) => {
        try {
          for (;;) await context.output("x");
        } finally {
          isOver = true;
        }
      },
    },
    stubborn: {
      execute: async (_, context) => {
        for (let n = 0; n < 1000; n += 1) await context.output("x").catch(() => {});
      },
    },
  });
  for (const name of ["heedless", "stubborn"]) {
    const slow = new Witness();
    slow.takes = false;
    const call = ask(executor, requestOf(name), undefined, slow);
    await until(() => slow.events.length > 0);
    call.ticket.leave("cancelled");
    // Where the loop starved, this would never look.
    await until(() => executor.inFlight === 0);
  }
  t.true(isOver);
});
