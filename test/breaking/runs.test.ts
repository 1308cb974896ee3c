import test from "ava";
import type { RunContext } from "../../src/domain/run.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { open, portOf, Stream } from "../execution/run-world.ts";
import { ask, gate, requestOf, type TestTool, until } from "../execution/world.ts";

const goesOn = { onDisconnect: "continue" } as const;

const asking: TestTool = {
  runAware: true,
  execute: async (_, { run }) => `answer: ${JSON.stringify(await run?.ask("go"))}`,
};

test("a run taken over ten times in a row keeps its calls and asks the last stream", async (t) => {
  let starts = 0;
  const tool: TestTool = {
    runAware: true,
    execute: (args, context) => {
      starts += 1;
      return asking.execute(args, context);
    },
  };
  const port = portOf({ asking: tool }, { journal: memoryJournal() });
  const first = open(port, goesOn);
  for (const tag of [1n, 2n, 3n])
    first.session.call(tag, requestOf("asking", { callId: `c${tag}` }));
  await until(() => first.questions.length === 3);
  let last = first;
  for (let n = 0; n < 10; n += 1) {
    const next = open(port, goesOn);
    t.is(last.closed?.fault?.code, "RUN_TAKEN_OVER");
    t.true(next.resumed);
    t.deepEqual(
      next.questions.map(({ requestId, tag }) => [requestId, tag]),
      first.questions.map(({ requestId }) => [requestId, 0n]),
    );
    // Every other stream asks for the calls, as a client that comes back does.
    if (n % 2 === 1) {
      for (const tag of [5n, 6n, 7n]) {
        next.session.call(tag, requestOf("asking", { callId: `c${tag - 4n}` }));
      }
    }
    last = next;
  }
  for (const { requestId } of last.questions) {
    last.session.reply(requestId, { ok: true, resultJson: "1" });
    last.session.reply(requestId, { ok: true, resultJson: "2" });
  }
  for (const tag of [5n, 6n, 7n]) t.is(await last.result(tag), "answer: 1");
  t.is(starts, 3);
  last.session.halfClose();
  t.deepEqual(last.closed, { fault: undefined });
  await until(() => port.executor.inFlight === 0);
});

test("an answer for another run, or after the call's end, is ignored", async (t) => {
  const port = portOf({ asking });
  const one = open(port);
  const other = open(port, { runId: "other" });
  one.session.call(1n, requestOf("asking"));
  const requestId = one.questions[0]?.requestId ?? "";
  other.session.reply(requestId, { ok: true, resultJson: "2" });
  one.session.reply(requestId, { ok: true, resultJson: "1" });
  t.is(await one.result(1n), "answer: 1");
  one.session.reply(requestId, { ok: true, resultJson: "3" });
  t.is(one.closed, undefined);
});

test("a question is taken back under the tag that it was asked under", async (t) => {
  const stream = open(portOf({ asking }));
  stream.session.call(7n, requestOf("asking"));
  t.is(stream.questions[0]?.tag, 7n);
  stream.session.cancel(7n);
  t.is(await stream.result(7n), "CANCELLED");
  t.deepEqual(stream.unaskedTags, [7n]);
});

test("of two tags of one call the one that stays is named by its questions", async (t) => {
  const hold = gate();
  const port = portOf({
    asking: {
      runAware: true,
      execute: async (_, { run }) => {
        await hold.promise;
        return run?.ask("go");
      },
    },
  });
  const stream = open(port);
  stream.session.call(1n, requestOf("asking", { callId: "c" }));
  stream.session.call(2n, requestOf("asking", { callId: "c" }));
  stream.session.cancel(2n);
  t.is(await stream.result(2n), "CANCELLED");
  hold.open();
  await until(() => stream.questions.length === 1);
  t.is(stream.questions[0]?.tag, 1n);
});

test("an idempotent tool that is cancelled while it asks runs again, and others are INDETERMINATE", async (t) => {
  const port = portOf(
    { again: { ...asking, idempotent: true }, once: asking },
    { journal: memoryJournal() },
  );
  const stream = open(port);
  stream.session.call(1n, requestOf("again", { callId: "a" }));
  stream.session.call(2n, requestOf("once", { callId: "o" }));
  await until(() => stream.questions.length === 2);
  stream.session.cancel(1n);
  stream.session.cancel(2n);
  stream.session.call(3n, requestOf("again", { callId: "a" }));
  stream.session.call(4n, requestOf("once", { callId: "o" }));
  await until(() => stream.questions.length === 3);
  stream.session.reply(stream.questions[2]?.requestId ?? "", { ok: true, resultJson: "1" });
  t.is(await stream.result(3n), "answer: 1");
  t.regex(await stream.result(4n), /^Indeterminate: /u);
});

test("without a journal nothing goes on, so a stream that takes over is told that nothing did", async (t) => {
  let aborted = false;
  const port = portOf({
    t: {
      execute: (_, { signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise(() => {});
      },
    },
  });
  const first = open(port, goesOn);
  first.session.call(1n, requestOf("t"));
  t.false(open(port, goesOn).resumed);
  t.true(aborted);
});

test("calls that ended while their run was lost are no calls that a stream takes over", async (t) => {
  const slow = gate<string>();
  const port = portOf({ t: { execute: () => slow.promise } }, { journal: memoryJournal() });
  const lost = open(port, goesOn);
  lost.session.call(1n, requestOf("t", { callId: "c" }));
  await until(() => port.executor.inFlight === 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  lost.session.leave("disconnected");
  slow.open("S");
  await until(() => port.executor.inFlight === 0);
  const next = open(port, goesOn);
  t.false(next.resumed);
  next.session.call(1n, requestOf("t", { callId: "c" }));
  t.is(await next.result(1n), "S");
});

test("metadata is a frozen record without a prototype, whatever its keys; a call's own entries win", async (t) => {
  let seen: Readonly<Record<string, string>> | undefined;
  const port = portOf({
    t: {
      execute: (_, { metadata }) => {
        seen = metadata;
      },
    },
  });
  const odd = JSON.parse('{"__proto__":"p","constructor":"c","traceparent":"00-run"}') as Record<
    string,
    string
  >;
  const stream = open(port, { metadata: odd });
  stream.session.call(1n, requestOf("t", { metadata: { traceparent: "00-call", "x-bin": "\0" } }));
  await stream.result(1n);
  t.deepEqual(
    Object.entries(seen ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ["__proto__", "p"],
      ["constructor", "c"],
      ["traceparent", "00-call"],
      ["x-bin", "\0"],
    ],
  );
  t.is(seen?.["toString"], undefined);
  t.true(Object.isFrozen(seen));
});

test("a flood of one call does not starve the other calls of a slow stream", async (t) => {
  const port = portOf({
    flood: {
      execute: async (_, { output, signal }) => {
        while (!signal.aborted) {
          for (let n = 0; n < 4; n += 1) void output("flood");
          await output("flood");
        }
      },
    },
    quick: {
      async *execute() {
        yield "a";
        yield "b";
        return "quick";
      },
    },
  });
  const stream = new Stream();
  stream.takes = false;
  open(port, {}, stream);
  stream.session.call(1n, requestOf("flood"));
  for (const tag of [2n, 3n, 4n]) stream.session.call(tag, requestOf("quick"));
  for (let n = 0; n < 60 && stream.ends.size < 3; n += 1) {
    stream.session.resume();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.is(stream.ends.size, 3);
  stream.session.leave("cancelled");
  await until(() => port.executor.inFlight === 0);
});

test("while a stream is behind, the first events of its other calls wait too", async (t) => {
  const port = portOf({
    t: {
      async *execute() {
        yield "x";
        return "done";
      },
    },
  });
  const stream = new Stream();
  stream.takes = false;
  open(port, {}, stream);
  for (let tag = 1n; tag <= 100n; tag += 1n) stream.session.call(tag, requestOf("t"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  t.is(stream.events.length, 1);
  stream.takes = true;
  stream.session.resume();
  for (let tag = 1n; tag <= 100n; tag += 1n) t.is(await stream.result(tag), "done");
  t.is(stream.events.length, 100);
});

test("leaving, cancelling and closing in any order end each call once and the stream once", async (t) => {
  const port = portOf({ t: { execute: () => new Promise(() => {}) } });
  const acts: readonly ((stream: Stream) => void)[] = [
    ({ session }) => session.cancel(1n),
    ({ session }) => session.halfClose(),
    ({ session }) => session.leave("disconnected"),
    ({ session }) => session.leave("cancelled"),
    ({ session }) => session.resume(),
    ({ session }) => session.call(2n, requestOf("t")),
    ({ session }) => session.call(1n, requestOf("t")),
  ];
  for (const [n, one] of acts.entries()) {
    for (const [m, two] of acts.entries()) {
      for (const three of acts) {
        const stream = open(port, { runId: `r${n}${m}` });
        stream.session.call(1n, requestOf("t"));
        for (const act of [one, two, three]) act(stream);
        stream.session.leave("cancelled");
        t.not(stream.closed, undefined);
      }
    }
  }
});

test("a tool that keeps its run asks in vain once the call has ended, as an abort", async (t) => {
  let kept: RunContext | undefined;
  const port = portOf({
    t: {
      runAware: true,
      execute: (_, { run }) => {
        kept = run;
      },
    },
  });
  const stream = open(port);
  stream.session.call(1n, requestOf("t"));
  await stream.result(1n);
  await t.throwsAsync(async () => kept?.ask("x"), { name: "AbortError" });
});

test("a call of a lost run may be asked for over Execute, run-aware or not", async (t) => {
  const port = portOf({ asking }, { journal: memoryJournal() });
  const lost = open(port, goesOn);
  lost.session.call(1n, requestOf("asking", { callId: "c" }));
  await until(() => lost.questions.length === 1);
  lost.session.leave("disconnected");
  const joined = ask(port.executor, requestOf("asking", { runId: "r", callId: "c" }));
  const next = open(port, goesOn);
  t.true(next.resumed);
  next.session.reply(next.questions[0]?.requestId ?? "", { ok: true, resultJson: "1" });
  t.like(await joined.outcome(), { result: "answer: 1" });
});
