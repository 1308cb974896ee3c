import test from "ava";
import { ToolPortError } from "../../src/errors.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { ask, executorOf, gate, requestOf, until, Witness } from "./world.ts";

const keyed = (name: string, rest = {}) => requestOf(name, { runId: "r", callId: "c", ...rest });

test("a call asked again is answered from its record and does not run", async (t) => {
  let runs = 0;
  const executor = executorOf(
    { t: { execute: () => `run ${(runs += 1)}` } },
    { journal: memoryJournal() },
  );
  const first = await ask(executor, keyed("t", { argumentsJson: '{"a":1,"b":2}' })).outcome();
  const again = await ask(executor, keyed("t", { argumentsJson: ' {"b":2.0, "a":1e0}' })).outcome();
  t.like(first, { ok: true, result: "run 1", replayed: false });
  t.deepEqual(again, { ...first, replayed: true });
  t.is(runs, 1);
});

test("another call under the same id is CALL_ID_REUSED, running or done", async (t) => {
  const slow = gate<string>();
  const executor = executorOf(
    { t: { execute: () => slow.promise }, u: { execute: () => "u" } },
    { journal: memoryJournal() },
  );
  const first = ask(executor, keyed("t"));
  t.is((await ask(executor, keyed("u")).fault()).code, "CALL_ID_REUSED");
  t.is(
    (await ask(executor, keyed("t", { argumentsJson: '{"x":1}' })).fault()).code,
    "CALL_ID_REUSED",
  );
  slow.open("ok");
  await first.outcome();
  t.is((await ask(executor, keyed("u")).fault()).code, "CALL_ID_REUSED");
});

test("principals and runs are key spaces of their own", async (t) => {
  let runs = 0;
  const executor = executorOf({ t: { execute: () => (runs += 1) } }, { journal: memoryJournal() });
  await ask(executor, keyed("t")).outcome();
  await ask(executor, keyed("t", { runId: "other" })).outcome();
  await ask(executor, keyed("t"), undefined, new Witness("somebody else")).outcome();
  t.is(runs, 3);
});

test("copies in flight are one call; one joiner's cancel ends that joiner only", async (t) => {
  const slow = gate<string>();
  let runs = 0;
  let aborted = false;
  const executor = executorOf(
    {
      t: {
        execute: (_, { signal }) => {
          runs += 1;
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return slow.promise;
        },
      },
    },
    { journal: memoryJournal() },
  );
  const one = ask(executor, keyed("t"));
  const two = ask(executor, keyed("t"));
  await until(() => runs === 1);
  const three = ask(executor, keyed("t"));
  two.ticket.leave("cancelled");
  t.is((await two.fault()).code, "CANCELLED");
  t.false(aborted);
  slow.open("S");
  t.like(await one.outcome(), { result: "S", replayed: false });
  t.like(await three.outcome(), { result: "S" });
  t.is(runs, 1);
  await until(() => executor.inFlight === 0);
});

test("the tool is aborted when the last caller has gone", async (t) => {
  let aborted = false;
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: (_, { signal }) => {
          runs += 1;
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              aborted = true;
              reject(signal.reason as Error);
            });
          });
        },
      },
    },
    { journal: memoryJournal() },
  );
  const one = ask(executor, keyed("t"));
  const two = ask(executor, keyed("t"));
  await until(() => runs === 1);
  one.ticket.leave("cancelled");
  t.false(aborted);
  two.ticket.leave("disconnected");
  t.true(aborted);
  await until(() => executor.inFlight === 0);
});

test("a call cancelled after it started is INDETERMINATE when asked again, from then on", async (t) => {
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: (_, { signal }) => {
          runs += 1;
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
        },
      },
    },
    { journal: memoryJournal() },
  );
  const call = ask(executor, keyed("t"));
  await until(() => runs === 1);
  call.ticket.leave("cancelled");
  const second = await ask(executor, keyed("t")).outcome();
  t.like(second, { ok: false, errorKind: "INDETERMINATE", replayed: true, attempt: 1 });
  t.deepEqual(await ask(executor, keyed("t")).outcome(), second);
  t.is(runs, 1);
});

test("a cancelled tool that ends all the same before the key is asked again is replayed", async (t) => {
  const slow = gate<string>();
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: () => {
          runs += 1;
          return slow.promise;
        },
      },
    },
    { journal: memoryJournal() },
  );
  const call = ask(executor, keyed("t"));
  await until(() => runs === 1);
  call.ticket.leave("cancelled");
  slow.open("really done");
  await until(() => executor.inFlight === 0);
  t.like(await ask(executor, keyed("t")).outcome(), {
    ok: true,
    result: "really done",
    replayed: true,
  });
  t.is(runs, 1);
});

test("the late outcome of an INDETERMINATE call is noted for people, never sent", async (t) => {
  const slow = gate<string>();
  const journal = memoryJournal();
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: () => {
          runs += 1;
          return slow.promise;
        },
      },
    },
    { journal },
  );
  const call = ask(executor, keyed("t"));
  await until(() => runs === 1);
  call.ticket.leave("cancelled");
  t.like(await ask(executor, keyed("t")).outcome(), { errorKind: "INDETERMINATE" });
  slow.open("late");
  await until(() => executor.inFlight === 0);
  t.like(await ask(executor, keyed("t")).outcome(), { errorKind: "INDETERMINATE" });
  const [entry] = await journal.list();
  t.like(entry?.notes[0]?.outcome, { ok: true, result: "late" });
});

test("an idempotent tool runs again, and only when the first attempt has really ended", async (t) => {
  const gates = [gate<string>(), gate<string>()];
  let running = 0;
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        idempotent: true,
        execute: async (_, { signal }) => {
          runs += 1;
          running += 1;
          t.is(running, 1);
          const n = runs - 1;
          await gates[n]?.promise;
          running -= 1;
          signal.throwIfAborted();
          return `attempt ${n + 1}`;
        },
      },
    },
    { journal: memoryJournal() },
  );
  const call = ask(executor, keyed("t"));
  await until(() => runs === 1);
  call.ticket.leave("cancelled");
  const impatient = ask(executor, keyed("t"), 20);
  t.like(await impatient.fault(), { code: "DEADLINE_EXCEEDED", started: "no" });
  const again = ask(executor, keyed("t"));
  const copy = ask(executor, keyed("t"));
  gates[0]?.open("");
  await until(() => runs === 2);
  gates[1]?.open("");
  t.like(await again.outcome(), { result: "attempt 2", attempt: 2, replayed: false });
  t.like(await copy.outcome(), { result: "attempt 2" });
});

test("a call cancelled while it waits for a slot leaves nothing and starts afresh", async (t) => {
  const slow = gate();
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        limits: { concurrency: 1 },
        execute: () => {
          runs += 1;
          return runs === 1 ? slow.promise : "ran";
        },
      },
    },
    { journal: memoryJournal() },
  );
  const holder = ask(executor, requestOf("t", { runId: "r", callId: "holder" }));
  await until(() => runs === 1);
  const waiting = ask(executor, keyed("t"));
  await until(() => executor.queued === 1);
  waiting.ticket.leave("cancelled");
  t.like(await waiting.fault(), { started: "no" });
  slow.open();
  await holder.outcome();
  t.like(await ask(executor, keyed("t")).outcome(), { result: "ran", attempt: 1 });
});

test("unknown tools, invalid arguments and a full queue leave no record", async (t) => {
  const journal = memoryJournal();
  const executor = executorOf(
    { t: { execute: () => new Promise(() => {}) } },
    { journal, slots: { inFlight: 1, queued: 0 } },
  );
  ask(executor, requestOf("t"));
  await ask(executor, keyed("nope")).outcome();
  await ask(executor, keyed("t", { argumentsJson: "{" })).outcome();
  t.is((await ask(executor, keyed("t")).fault()).code, "OVERLOADED");
  t.deepEqual(await journal.list(), []);
});

test("where the claim can't be written nothing starts, and the same call may be asked again", async (t) => {
  const inner = memoryJournal();
  let isFull = true;
  let runs = 0;
  const journal: Journal = {
    ...bound(inner),
    claim: (claim) =>
      isFull
        ? Promise.reject(new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is full"))
        : inner.claim(claim),
  };
  const executor = executorOf({ t: { execute: () => (runs += 1) } }, { journal });
  t.like(await ask(executor, keyed("t")).fault(), { code: "JOURNAL_UNAVAILABLE", started: "no" });
  isFull = false;
  t.like(await ask(executor, keyed("t")).outcome(), { result: "1" });
  t.is(runs, 1);
});

test("where the outcome can't be written the caller is told UNAVAILABLE, and whoever asks again waits for it", async (t) => {
  const inner = memoryJournal();
  let isFull = true;
  let runs = 0;
  const journal: Journal = {
    ...bound(inner),
    end: (...end) =>
      isFull
        ? Promise.reject(new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is full"))
        : inner.end(...end),
  };
  const executor = executorOf({ t: { execute: () => (runs += 1) } }, { journal });
  t.like(await ask(executor, keyed("t")).fault(), { code: "JOURNAL_UNAVAILABLE", started: "yes" });
  t.like(await ask(executor, keyed("t"), 20).fault(), { code: "DEADLINE_EXCEEDED" });
  const again = ask(executor, keyed("t"));
  isFull = false;
  t.like(await again.outcome(), { result: "1", replayed: true });
  t.like(await ask(executor, keyed("t")).outcome(), { result: "1", replayed: true });
  t.is(runs, 1);
});

test("a call that is cancelled while its claim is made is no lost call to whoever asks next", async (t) => {
  const inner = memoryJournal();
  const claim = gate();
  let claims = 0;
  let runs = 0;
  const journal: Journal = {
    ...bound(inner),
    async claim(claimed) {
      claims += 1;
      const made = await inner.claim(claimed);
      if (claims === 1) await claim.promise;
      return made;
    },
    async end(...end) {
      // Slower than any look-up.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return await inner.end(...end);
    },
  };
  const executor = executorOf({ t: { execute: () => (runs += 1) } }, { journal });
  const first = ask(executor, keyed("t"));
  await until(() => claims === 1);
  first.ticket.leave("cancelled");
  t.like(await first.fault(), { code: "CANCELLED", started: "no" });
  const second = ask(executor, keyed("t"));
  claim.open();
  t.like(await second.outcome(), { result: "1", attempt: 1, replayed: false });
  t.is(runs, 1);
});

test("with CONTINUE a lost connection leaves the tool running, and the retry joins it", async (t) => {
  const slow = gate<string>();
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: () => {
          runs += 1;
          return slow.promise;
        },
      },
    },
    { journal: memoryJournal() },
  );
  const call = ask(executor, keyed("t", { onDisconnect: "continue" }));
  await until(() => runs === 1);
  call.ticket.leave("disconnected");
  const retry = ask(executor, keyed("t", { onDisconnect: "continue" }));
  slow.open("kept");
  t.like(await retry.outcome(), { result: "kept", attempt: 1 });
  t.is(runs, 1);
});

test("with CONTINUE the grace is bounded, and a cancel aborts at once", async (t) => {
  let aborted = 0;
  const execute = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        aborted += 1;
        reject(signal.reason as Error);
      });
    });
  let runs = 0;
  const executor = executorOf(
    {
      t: {
        execute: (args, context) => {
          runs += 1;
          return execute(args, context);
        },
      },
    },
    { journal: memoryJournal(), continueGraceMs: 30 },
  );
  const lost = ask(executor, keyed("t", { onDisconnect: "continue" }));
  await until(() => runs === 1);
  lost.ticket.leave("disconnected");
  t.is(aborted, 0);
  await until(() => aborted === 1);
  const cancelled = ask(executor, keyed("t", { callId: "d", onDisconnect: "continue" }));
  await until(() => runs === 2);
  cancelled.ticket.leave("cancelled");
  t.is(aborted, 2);
});

test("a budget counts starts, over restarts too; replays and joins are free", async (t) => {
  const journal = memoryJournal();
  const tools = { t: { maxCallsPerInvocation: 2, execute: () => "ok" } };
  const options = { journal, enforceBudgets: true };
  const executor = executorOf(tools, options);
  const call = (callId: string, runId = "r") =>
    ask(executor, requestOf("t", { runId, callId })).outcome();
  t.true((await call("1")).ok);
  t.like(await call("1"), { ok: true, replayed: true });
  const restarted = executorOf(tools, options);
  t.true((await ask(restarted, requestOf("t", { runId: "r", callId: "2" })).outcome()).ok);
  t.like(await call("3"), { errorKind: "BUDGET_EXHAUSTED", attempt: 0 });
  t.like(await call("3"), { errorKind: "BUDGET_EXHAUSTED", replayed: true });
  t.true((await call("1", "other run")).ok);
});

test("two calls at once can't both take the last place of a budget", async (t) => {
  const executor = executorOf(
    { t: { maxCallsPerInvocation: 1, execute: () => "ok" } },
    { enforceBudgets: true },
  );
  const both = await Promise.all(
    ["1", "2"].map((callId) => ask(executor, requestOf("t", { runId: "r", callId })).outcome()),
  );
  t.deepEqual(
    both.map(({ ok }) => ok),
    [true, false],
  );
});

function bound(journal: Journal): Journal {
  return {
    isDurable: journal.isDurable,
    lookup: (key) => journal.lookup(key),
    claim: (claim) => journal.claim(claim),
    end: (key, attempt, ending) => journal.end(key, attempt, ending),
    started: (run, tool) => journal.started(run, tool),
    touch: (run) => journal.touch(run),
    list: (filter) => journal.list(filter),
    prune: () => journal.prune(),
    close: () => journal.close(),
  };
}
