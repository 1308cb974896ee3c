import test from "ava";
import { ToolPortError } from "../../src/errors.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { ask, executorOf, gate, requestOf, until } from "../execution/world.ts";
import { wrapped } from "./journals.ts";

// A budget counts each call once, when it starts, and never refuses what has been counted.

const budgeted = { enforceBudgets: true };

for (const journal of [undefined, memoryJournal()]) {
  const where = journal ? "by the journal" : "in memory";
  test(`calls that waited for a slot count like any other, ${where}`, async (t) => {
    const gates = [gate(), gate()];
    let starts = 0;
    const tool = {
      maxCallsPerInvocation: 2,
      limits: { concurrency: 1 },
      execute: () => gates[(starts += 1) - 1]?.promise,
    };
    const other = { execute: () => "other" };
    const executor = executorOf({ t: tool, other }, { ...budgeted, journal });
    const call = (callId: string) => ask(executor, requestOf("t", { runId: "r", callId }));
    const first = call("1");
    const second = call("2");
    await until(() => starts === 1 && executor.queued === 1);
    // Holds the count open while the others end.
    gates[0]?.open();
    await first.outcome();
    await until(() => starts === 2);
    const third = call("3");
    gates[1]?.open();
    await second.outcome();
    t.like(await third.outcome(), { errorKind: "BUDGET_EXHAUSTED" });
    t.like(await call("4").outcome(), { errorKind: "BUDGET_EXHAUSTED" });
    t.is(starts, 2);
  });

  test(`calls that left before they started give their place back, ${where}`, async (t) => {
    const hold = gate();
    let starts = 0;
    const tool = {
      maxCallsPerInvocation: 2,
      limits: { concurrency: 1 },
      execute: () => {
        starts += 1;
        return starts === 1 ? hold.promise : "ok";
      },
    };
    const executor = executorOf({ t: tool }, { ...budgeted, journal });
    const call = (callId: string) => ask(executor, requestOf("t", { runId: "q", callId }));
    const first = call("1");
    await until(() => starts === 1);
    for (let n = 0; n < 5; n += 1) {
      const leaves = call(`leaves-${n}`);
      await until(() => executor.queued === 1);
      leaves.ticket.leave("cancelled");
      await leaves.fault();
    }
    hold.open();
    await first.outcome();
    t.like(await call("2").outcome(), { result: "ok" });
    t.like(await call("3").outcome(), { errorKind: "BUDGET_EXHAUSTED" });
  });
}

test("an idempotent tool that runs again is not charged again, nor refused", async (t) => {
  let starts = 0;
  const tool = {
    maxCallsPerInvocation: 2,
    idempotent: true,
    execute: (_: unknown, { signal }: { signal: AbortSignal }) => {
      starts += 1;
      if (starts !== 2) return "ok";
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
  };
  const executor = executorOf({ t: tool }, { ...budgeted, journal: memoryJournal() });
  const call = (callId: string) => ask(executor, requestOf("t", { runId: "r", callId }));
  await call("1").outcome();
  const lost = call("2");
  await until(() => starts === 2);
  lost.ticket.leave("cancelled");
  t.like(await call("2").outcome(), { result: "ok", attempt: 2 });
  t.like(await call("2").outcome(), { result: "ok", attempt: 2, replayed: true });
  t.like(await call("3").outcome(), { errorKind: "BUDGET_EXHAUSTED" });
  t.is(starts, 3);
});

test("a refusal by the budget that can't be recorded starts nothing, also once it can", async (t) => {
  let isFull = false;
  let starts = 0;
  const inner = memoryJournal();
  const journal = wrapped(inner, {
    end: (...end) =>
      isFull
        ? Promise.reject(new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is full"))
        : inner.end(...end),
  });
  const tool = {
    maxCallsPerInvocation: 1,
    idempotent: true,
    execute: () => `run ${(starts += 1)}`,
  };
  const executor = executorOf({ t: tool }, { ...budgeted, journal });
  const call = (callId: string) => ask(executor, requestOf("t", { runId: "r", callId }));
  await call("1").outcome();
  isFull = true;
  t.like(await call("2").fault(), { code: "JOURNAL_UNAVAILABLE" });
  const again = call("2");
  isFull = false;
  t.like(await again.outcome(), { errorKind: "BUDGET_EXHAUSTED" });
  t.is(starts, 1);
});

test("a count that can't be read fails the calls that need it, and is read anew for the next", async (t) => {
  let fails = 2;
  let starts = 0;
  const inner = memoryJournal();
  const journal = wrapped(inner, {
    started: async (...asked) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (fails === 0) return inner.started(...asked);
      fails -= 1;
      throw new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is slow");
    },
  });
  const tool = { maxCallsPerInvocation: 3, execute: () => `run ${(starts += 1)}` };
  const executor = executorOf({ t: tool }, { ...budgeted, journal });
  const call = (callId: string) => ask(executor, requestOf("t", { runId: "r", callId }));
  for (let round = 0; round < 2; round += 1) {
    const failed = [call(`${round}-a`), call(`${round}-b`)];
    for (const one of failed)
      t.like(await one.fault(), { code: "JOURNAL_UNAVAILABLE", started: "no" });
  }
  const ends = await Promise.all(["1", "2", "3", "4"].map((callId) => call(callId).outcome()));
  t.is(ends.filter(({ ok }) => ok).length, 3);
  t.is(starts, 3);
});
