import test from "ava";
import { memoryJournal } from "../../src/journal/memory.ts";
import { ask, executorOf, gate, requestOf, until, Witness } from "../execution/world.ts";

// Whatever a body returns, throws or leaves behind, its call has one end and nothing of it stays.

const boom = (): never => {
  throw new Error("boom");
};

const odd: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    "an object whose then getter throws",
    // oxlint-disable-next-line unicorn/no-thenable -- what is tested
    () => Object.defineProperty({}, "then", { get: boom }),
    /^Error: boom$/u,
  ],
  [
    "an object whose iterator getter throws",
    () => Object.defineProperty({}, Symbol.asyncIterator, { get: boom }),
    /^Error: boom$/u,
  ],
  ["an iterable that cannot begin", () => ({ [Symbol.asyncIterator]: boom }), /^Error: boom$/u],
  [
    "a promise of an iterable that cannot begin",
    async () => ({ [Symbol.asyncIterator]: boom }),
    /^Error: boom$/u,
  ],
  [
    "an iterator whose next getter throws",
    () => ({ [Symbol.asyncIterator]: () => Object.defineProperty({}, "next", { get: boom }) }),
    /^Error: boom$/u,
  ],
  [
    "a revoked proxy",
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
    /TypeError: /u,
  ],
  [
    "a thenable that rejects and then resolves",
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what is tested
      then(resolve: (value: string) => void, reject: (reason: Error) => void) {
        reject(new Error("first"));
        resolve("second");
        throw new Error("third");
      },
    }),
    /^Error: first$/u,
  ],
  [
    "an error that holds itself",
    () => {
      const error = new AggregateError([], "round");
      error.errors = Array.from({ length: 16 }, () => error);
      throw error;
    },
    /^AggregateError: round; /u,
  ],
  [
    "an error whose parts are a revoked proxy",
    () => {
      const { proxy, revoke } = Proxy.revocable([], {});
      revoke();
      throw Object.assign(new RangeError("parts"), { errors: proxy });
    },
    /^RangeError: /u,
  ],
  [
    "a failure that is settled with rubbish",
    () => {
      throw Object.assign(new RangeError("mine"), {
        toolportFailure: { errorKind: "NO", error: 5 },
      });
    },
    /^RangeError: mine$/u,
  ],
  [
    "nothing",
    () => {
      throw undefined;
    },
    /^Error: $/u,
  ],
  [
    "a frozen object",
    () => {
      throw Object.freeze({ message: "cold" });
    },
    /^Error: cold$/u,
  ],
];
for (const [what, execute, text] of odd) {
  test(`a tool that returns or throws ${what} fails its call`, async (t) => {
    const executor = executorOf({ t: { execute } }, { journal: memoryJournal() });
    const outcome = await ask(executor, requestOf("t", { runId: "r" }), 2000).outcome();
    t.false(outcome.ok);
    t.regex(outcome.ok ? "" : outcome.error, text);
    await until(() => executor.inFlight === 0);
  });
}

test("a promise for a thenable that resolves twice has the first value", async (t) => {
  const executor = executorOf({
    t: {
      execute: () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- what is tested
        then(resolve: (value: string) => void) {
          resolve("first");
          resolve("second");
        },
      }),
    },
  });
  t.like(await ask(executor, requestOf("t")).outcome(), { result: "first" });
});

test("a finally block that throws does not keep a time limit from ending the call", async (t) => {
  const hold = gate();
  const executor = executorOf({
    t: {
      // A synchronous generator, whose return() throws where it is called.
      *execute() {
        try {
          yield hold.promise;
        } finally {
          boom();
        }
      },
    },
  });
  const outcome = await ask(executor, requestOf("t", { timeoutMs: 20 })).outcome();
  t.like(outcome, { ok: false, errorKind: "TIMED_OUT" });
  hold.open();
  await until(() => executor.inFlight === 0);
});

test("a generator that fills its own output while it runs is stopped, not broken", async (t) => {
  const executor = executorOf({
    t: {
      *execute(_, { output, signal }) {
        while (!signal.aborted) void output("x".repeat(1 << 20));
        yield "never seen";
      },
    },
  });
  const behind = new Witness();
  behind.takes = false;
  const { ticket } = ask(executor, requestOf("t"), undefined, behind);
  await until(() => executor.inFlight === 0);
  behind.takes = true;
  ticket.resume();
  t.like(await behind.outcome(), { errorKind: "RESULT_TOO_LARGE" });
});

test("a cancelled generator counts as ended only when its finally block has", async (t) => {
  const tidy = gate();
  let running = 0;
  let most = 0;
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        idempotent: true,
        async *execute(_, { signal }) {
          runs += 1;
          running += 1;
          most = Math.max(most, running);
          try {
            yield "begun";
            if (runs === 1) {
              await new Promise((resolve) => signal.addEventListener("abort", resolve));
              yield "aborted";
            }
          } finally {
            await tidy.promise;
            running -= 1;
          }
          return `run ${runs}`;
        },
      },
    },
    { journal: memoryJournal() },
  );
  const request = requestOf("t", { runId: "r" });
  const first = ask(executor, request);
  await until(() => first.events.length === 1);
  first.ticket.leave("cancelled");
  const second = ask(executor, request);
  await turns();
  t.is(executor.inFlight, 2);
  tidy.open();
  t.like(await second.outcome(), { result: "run 2", attempt: 2 });
  t.is(most, 1);
});

test("a generator whose yield can't be sent fails, and runs its finally block", async (t) => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  let tidied = 0;
  const executor = executorOf({
    async: {
      async *execute() {
        try {
          yield cyclic;
        } finally {
          tidied += 1;
        }
      },
    },
    sync: {
      *execute() {
        try {
          yield Promise.reject(new RangeError("late"));
        } finally {
          tidied += 1;
        }
      },
    },
  });
  t.regex(await textOf(ask(executor, requestOf("async"))), /circular/u);
  t.is(await textOf(ask(executor, requestOf("sync"))), "RangeError: late");
  t.is(tidied, 2);
});

test("a generator that never waits holds up neither timers nor other calls", async (t) => {
  const executor = executorOf(
    {
      flood: {
        async *execute(_, { signal }) {
          while (!signal.aborted) yield "x";
        },
      },
      pour: {
        async execute(_, { output, signal }) {
          while (!signal.aborted) await output("x");
        },
      },
      quick: { execute: () => "quick" },
    },
    { journal: memoryJournal(), continueGraceMs: 50 },
  );
  for (const name of ["flood", "pour"]) {
    const call = ask(executor, requestOf(name, { runId: "r", onDisconnect: "continue" }));
    await until(() => call.events.length > 0);
    call.ticket.leave("disconnected");
    t.like(await ask(executor, requestOf("quick")).outcome(), { result: "quick" });
  }
  await until(() => executor.inFlight === 0);
  const timed = ask(executor, requestOf("flood", { timeoutMs: 50 }));
  t.like(await timed.outcome(), { errorKind: "TIMED_OUT" });
});

const parts: readonly (readonly [string, object, string])[] = [
  [
    "a name that is no text",
    { mimeType: "a/b", uri: "x:y", name: 5 },
    '{"mimeType":"a/b","uri":"x:y","name":5}',
  ],
  ["a uri that is no text", { mimeType: "a/b", uri: 5 }, '{"mimeType":"a/b","uri":5}'],
];
for (const [what, part, text] of parts) {
  test(`an object with a media type and ${what} is data, not content`, async (t) => {
    const executor = executorOf({ t: { execute: () => part } });
    t.like(await ask(executor, requestOf("t")).outcome(), { result: text, content: [] });
  });
}

test("content is read once: what the tool does to the part afterwards changes nothing", async (t) => {
  const part = { mimeType: "text/plain", uri: "file:///a", name: "a" };
  const executor = executorOf({
    t: {
      execute: (_, { output }) => {
        void output(part);
        return part;
      },
    },
  });
  const call = ask(executor, requestOf("t"));
  const { content } = await call.outcome();
  Object.assign(part, { name: 5, mimeType: undefined });
  t.deepEqual(content, [{ mimeType: "text/plain", uri: "file:///a", name: "a" }]);
  t.deepEqual(call.events, [
    { kind: "content", content: { mimeType: "text/plain", uri: "file:///a", name: "a" } },
  ]);
});

test("a call that is cancelled while its result is read is over all the same", async (t) => {
  const read = gate<ArrayBuffer>();
  class Slow extends Blob {
    override arrayBuffer(): Promise<ArrayBuffer> {
      return read.promise;
    }
  }
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: () => {
          runs += 1;
          return new Slow();
        },
      },
    },
    { journal: memoryJournal() },
  );
  const request = requestOf("t", { runId: "r" });
  const first = ask(executor, request);
  await until(() => runs === 1);
  first.ticket.leave("cancelled");
  t.like(await first.fault(), { code: "CANCELLED", started: "yes" });
  read.open(new ArrayBuffer(3));
  await until(() => executor.inFlight === 0);
  t.like(await ask(executor, request).outcome(), { ok: true, replayed: true });
  t.is(runs, 1);
});

test("a call whose time runs out while its result is read is TIMED_OUT, and the result is noted", async (t) => {
  const read = gate<ArrayBuffer>();
  class Slow extends Blob {
    override arrayBuffer(): Promise<ArrayBuffer> {
      return read.promise;
    }
  }
  const journal = memoryJournal();
  const executor = executorOf({ t: { execute: () => new Slow() } }, { journal });
  const request = requestOf("t", { runId: "r", timeoutMs: 10 });
  t.like(await ask(executor, request).outcome(), { errorKind: "TIMED_OUT" });
  read.open(new ArrayBuffer(3));
  await until(() => executor.inFlight === 0);
  t.like(await ask(executor, request).outcome(), { errorKind: "TIMED_OUT", replayed: true });
  t.like((await journal.list())[0]?.notes[0]?.outcome, { ok: true });
});

test("progress and output that come after the end reach nobody", async (t) => {
  const late = gate();
  const seen: unknown[] = [];
  const executor = executorOf({
    t: {
      execute: (_, { progress, output }) => {
        const goOn = async (): Promise<void> => {
          await late.promise;
          progress(1);
          await output("late");
          seen.push("resolved");
          try {
            progress(Number.NaN);
          } catch (error) {
            seen.push(error);
          }
        };
        void goOn();
        return "done";
      },
    },
  });
  const call = ask(executor, requestOf("t"));
  t.like(await call.outcome(), { result: "done" });
  late.open();
  await until(() => seen.length === 2);
  t.deepEqual(call.events, []);
  t.like(seen[1], { code: "REQUEST_INVALID" });
});

test("an iterator whose return never comes back ends the call and keeps its place", async (t) => {
  const executor = executorOf({
    t: {
      execute: () => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => ({ done: false, value: "x" }),
          return: () => new Promise(() => {}),
        }),
      }),
      limits: { timeoutMs: 20 },
    },
  });
  t.like(await ask(executor, requestOf("t")).outcome(), { errorKind: "TIMED_OUT" });
  await turns();
  t.is(executor.inFlight, 1);
});

async function textOf(call: Witness): Promise<string> {
  const outcome = await call.outcome();
  return outcome.ok ? outcome.result : outcome.error;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
