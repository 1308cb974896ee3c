import test from "ava";
import { ToolPortError } from "../../src/errors.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { ask, executorOf, gate, requestOf, until } from "../execution/world.ts";
import { wrapped } from "./journals.ts";

const keyed = (name: string, rest = {}) => requestOf(name, { runId: "r", callId: "c", ...rest });

const full = (): Promise<never> =>
  Promise.reject(new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is full"));

test("an idempotent call that timed out deaf is answered at once when asked again", async (t) => {
  const deaf = gate();
  const executor = executorOf(
    { t: { idempotent: true, execute: () => deaf.promise } },
    { journal: memoryJournal() },
  );
  t.like(await ask(executor, keyed("t", { timeoutMs: 10 })).outcome(), { errorKind: "TIMED_OUT" });
  t.like(await ask(executor, keyed("t"), 2000).outcome(), {
    errorKind: "TIMED_OUT",
    replayed: true,
  });
  t.is(executor.inFlight, 1);
  deaf.open();
  await until(() => executor.inFlight === 0);
});

test("draining tells who waits for an outcome that can't be written, and never the outcome", async (t) => {
  const journal = wrapped(memoryJournal(), { end: full });
  const executor = executorOf({ t: { execute: () => "ok" } }, { journal });
  t.like(await ask(executor, keyed("t")).fault(), { code: "JOURNAL_UNAVAILABLE", started: "yes" });
  const joined = ask(executor, keyed("t"));
  await executor.drain(20);
  t.like(joined.end_, { kind: "fault", fault: { code: "DRAINING", started: "yes" } });
  await until(() => executor.inFlight === 0);
});

test("a late result does not pass for an outcome that was never written", async (t) => {
  const journal = wrapped(memoryJournal(), {
    end: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return full();
    },
  });
  // Its time runs out, and it fails of that in its own words while the outcome is being written.
  const executor = executorOf(
    {
      t: {
        execute: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new RangeError("late")));
          }),
      },
    },
    { journal },
  );
  t.is((await ask(executor, keyed("t", { timeoutMs: 5 })).fault()).code, "JOURNAL_UNAVAILABLE");
  const joined = ask(executor, keyed("t"));
  await executor.drain(10);
  t.is((await joined.fault()).code, "DRAINING");
  await until(() => executor.inFlight === 0);
});

test("an outcome that the journal can never take ends the call and holds nothing", async (t) => {
  let isBroken = true;
  const inner = memoryJournal();
  const journal = wrapped(inner, {
    end: (...end) => (isBroken ? Promise.reject(new RangeError("too long")) : inner.end(...end)),
  });
  let runs = 0;
  const executor = executorOf({ t: { execute: () => (runs += 1) } }, { journal });
  t.is((await ask(executor, keyed("t")).fault()).started, "yes");
  await until(() => executor.inFlight === 0);
  isBroken = false;
  t.like(await ask(executor, keyed("t")).outcome(), { errorKind: "INDETERMINATE" });
  t.is(runs, 1);
});

/** A journal whose operations wait until the test lets them through. */
function stepped(inner: Journal): {
  readonly journal: Journal;
  readonly waits: string[];
  go(): void;
} {
  const waits: string[] = [];
  const gates: (() => void)[] = [];
  const wait = (what: string): Promise<void> => {
    waits.push(what);
    return new Promise((resolve) => gates.push(resolve));
  };
  return {
    waits,
    go: () => gates.shift()?.(),
    journal: wrapped(inner, {
      lookup: (key) => wait("lookup").then(() => inner.lookup(key)),
      claim: (claim) => wait("claim").then(() => inner.claim(claim)),
      end: (...end) => wait(`end ${end[2].kind}`).then(() => inner.end(...end)),
      started: (...run) => wait("started").then(() => inner.started(...run)),
    }),
  };
}

for (const cause of ["cancelled", "deadline", "disconnected"] as const) {
  for (const phase of ["lookup", "started", "claim"] as const) {
    test(`a call that is left (${cause}) during ${phase} starts nothing, and may be asked again`, async (t) => {
      const { journal, waits, go } = stepped(memoryJournal());
      let runs = 0;
      const tool = { maxCallsPerInvocation: 1, execute: () => `run ${(runs += 1)}` };
      const executor = executorOf({ t: tool }, { journal, enforceBudgets: true });
      const left = ask(executor, keyed("t", { onDisconnect: "continue" }));
      while (waits.at(-1) !== phase) {
        const seen = waits.length;
        go();
        await until(() => waits.length > seen);
      }
      left.ticket.leave(cause);
      t.is((await left.fault()).started, "no");
      const again = ask(executor, keyed("t"));
      while (!again.end_) {
        go();
        await new Promise((resolve) => setImmediate(resolve));
      }
      t.like(await again.outcome(), { result: "run 1", attempt: 1, replayed: false });
      t.is(runs, 1);
      while (executor.inFlight > 0) {
        go();
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
  }
}

test("a call that is left during a check that takes its time starts nothing", async (t) => {
  const check = gate();
  let runs = 0;
  const tool = {
    execute: () => `run ${(runs += 1)}`,
    check: async () => {
      await check.promise;
      return { ok: true, value: {} } as const;
    },
  };
  const executor = executorOf({ t: tool }, { journal: memoryJournal() });
  const left = ask(executor, keyed("t"));
  await new Promise((resolve) => setImmediate(resolve));
  left.ticket.leave("cancelled");
  check.open();
  await new Promise((resolve) => setImmediate(resolve));
  t.is(runs, 0);
  t.like(await ask(executor, keyed("t")).outcome(), { result: "run 1" });
  await until(() => executor.inFlight === 0);
});

for (const phase of ["lookup", "started", "claim", "end outcome"] as const) {
  test(`draining during ${phase} ends within its grace and leaves nothing`, async (t) => {
    const { journal, waits, go } = stepped(memoryJournal());
    let runs = 0;
    const tool = { maxCallsPerInvocation: 1, execute: () => `run ${(runs += 1)}` };
    const executor = executorOf({ t: tool }, { journal, enforceBudgets: true });
    const call = ask(executor, keyed("t"));
    while (waits.at(-1) !== phase) {
      const seen = waits.length;
      go();
      await until(() => waits.length > seen);
    }
    await executor.drain(20);
    t.like(call.end_, { kind: "fault", fault: { code: "DRAINING" } });
    t.is(runs, phase === "end outcome" ? 1 : 0);
    while (executor.inFlight > 0) {
      go();
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
}

test("a cancel in the very turn of the end has one end, and the record agrees with it", async (t) => {
  for (const isAfter of [false, true]) {
    const executor = executorOf({ t: { execute: () => "ok" } }, { journal: memoryJournal() });
    const call = ask(executor, keyed("t"));
    const racing = call.ended.then((end) => end.kind);
    if (isAfter) await Promise.resolve();
    call.ticket.leave("cancelled");
    const again = await ask(executor, keyed("t")).outcome();
    t.like(again, { ok: true, result: "ok" });
    t.is(await racing, "fault");
  }
});
