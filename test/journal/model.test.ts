import { setTimeout as sleep } from "node:timers/promises";

import type { ExecutionContext } from "ava";
import test from "ava";
import * as fc from "fast-check";

import { isToolPortError } from "../../src/errors.ts";
import type { CallKey, Ending, Journal } from "../../src/journal/journal.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, failure, keyOf, success } from "./calls.ts";
import { copyAsCrashed, temporaryPath } from "./files.ts";
import { JournalModel, retentionMs, text, tombstoneMs } from "./model.ts";
import { seeded } from "./seeded.ts";

/** How many runs the slower of the two gets. */
const sqliteRuns = Number(process.env["TOOLPORT_MODEL_RUNS"] ?? 10);

/** The journal under test, and how it comes to another owner. */
interface System {
  journal: Journal;
  now: number;
  /** Goes on from what a crash at this moment leaves; undefined: by closing it. */
  restart?(crashesDuring?: Promise<unknown>): Promise<void>;
}

type Command = fc.AsyncCommand<JournalModel, System>;

/** A step whose answer is that of the model. */
function step(
  title: string,
  ask: (system: System) => Promise<unknown>,
  expect: (model: JournalModel) => unknown,
): Command {
  return {
    check: () => true,
    async run(model, system) {
      same(title, await answerOf(ask(system)), expect(model));
    },
    toString: () => title,
  };
}

const key = fc
  .tuple(fc.constantFrom("r0", "r1"), fc.constantFrom("c0", "c1"))
  .map(([runId, callId]) => keyOf(callId, runId));
const claim = fc
  .tuple(key, fc.constantFrom("d0", "d0", "d0", "d1"), fc.boolean())
  .map(([one, callDigest, idempotent]) => claimOf(one, { callDigest, idempotent }));
const outcome = fc.constantFrom(
  success("a"),
  success("b".repeat(5000)),
  failure("INDETERMINATE", 0),
  failure("BUDGET_EXHAUSTED", 0),
);
const ending: fc.Arbitrary<Ending> = fc.oneof(
  { arbitrary: outcome.map((one): Ending => ({ kind: "outcome", outcome: one })), weight: 3 },
  { arbitrary: fc.constantFrom<Ending>({ kind: "lost" }, { kind: "released" }), weight: 2 },
);
const attempt = fc.constantFrom(1, 1, 1, 2, 2, 3);
const time = fc.constantFrom(0.6 * retentionMs, 0.6 * retentionMs, 1.2 * tombstoneMs);

const steps: readonly fc.Arbitrary<Command>[] = [
  key.map((one) =>
    step(
      `lookup ${one.runId} ${one.callId}`,
      async ({ journal }) => lookup(journal, one),
      (model) => model.lookup(one),
    ),
  ),
  claim.map((one) =>
    step(
      `claim ${one.runId} ${one.callId} ${one.callDigest}`,
      async ({ journal }) => (await journal.claim(one)).attempt,
      (model) => model.claim(one),
    ),
  ),
  fc.tuple(key, attempt, ending).map(([one, at, how]) =>
    step(
      `end ${one.runId} ${one.callId} ${at} ${how.kind}`,
      async ({ journal }) => journal.end(one, at, how),
      (model) => model.end(one, at, how),
    ),
  ),
  key.map((one) =>
    step(
      `started ${one.runId}`,
      async ({ journal }) => journal.started(one, "pay"),
      (model) => model.started(one, "pay"),
    ),
  ),
  time.map((ms) =>
    step(
      `wait ${ms} and prune`,
      async (system) => {
        system.now += ms;
        const { records, runs } = await system.journal.prune();
        return `${records} of ${runs}`;
      },
      (model) => {
        model.now += ms;
        const { records, runs } = model.prune();
        return `${records} of ${runs}`;
      },
    ),
  ),
  fc.constant(
    step(
      "list",
      async ({ journal }) => (await list(journal)).join("\n"),
      (model) => model.lines().join("\n"),
    ),
  ),
];

const restarts: readonly fc.Arbitrary<Command>[] = [
  fc.constant(
    restart("close", async (system) => {
      await system.journal.close();
      await system.restart?.();
    }),
  ),
  fc.constant(restart("crash", async (system) => system.restart?.(Promise.resolve()))),
  fc.tuple(claim, fc.nat(2)).map(([one, ms]) =>
    crashDuring(
      `crash ${ms} ms into claim ${one.callId}`,
      one,
      ms,
      async ({ journal }) => journal.claim(one),
      (model) => model.claim(one),
    ),
  ),
  fc.tuple(key, attempt, ending, fc.nat(2)).map(([one, at, how, ms]) =>
    crashDuring(
      `crash ${ms} ms into end ${one.callId} ${at} ${how.kind}`,
      one,
      ms,
      async ({ journal }) => journal.end(one, at, how),
      (model) => model.end(one, at, how),
    ),
  ),
];

function restart(title: string, act: (system: System) => Promise<void>): Command {
  return {
    check: () => true,
    async run(model, system) {
      await act(system);
      model.restart();
      same(title, (await list(system.journal)).join("\n"), model.lines().join("\n"));
    },
    toString: () => title,
  };
}

/** The operation may have come to pass or not; anything else is wrong. */
function crashDuring(
  title: string,
  { principal, runId }: CallKey,
  afterMs: number,
  ask: (system: System) => Promise<unknown>,
  expect: (model: JournalModel) => unknown,
): Command {
  return {
    check: () => true,
    async run(model, system) {
      const asked = answerOf(ask(system));
      if (afterMs > 0) await sleep(afterMs - 1);
      await system.restart?.(asked);
      const found = (await list(system.journal)).join("\n");
      const before = structuredClone([...model.runs]);
      expect(model);
      model.restart();
      if (found !== model.lines().join("\n")) {
        model.runs.clear();
        for (const [id, run] of before) model.runs.set(id, run);
        model.restart();
        same(title, found, model.lines().join("\n"));
      }
      // Records alone do not tell whether the run was used.
      await system.journal.touch({ principal, runId });
      const run = model.runs.get(runId);
      if (run !== undefined && run.expired === undefined) run.used = model.now;
    },
    toString: () => title,
  };
}

async function check(
  t: ExecutionContext,
  commands: readonly fc.Arbitrary<Command>[],
  open: () => Promise<System>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands([...commands], { size: "+1" }), async (run) => {
      const real = await open();
      try {
        await fc.asyncModelRun(() => ({ model: new JournalModel(), real }), run);
      } finally {
        await real.journal.close();
      }
    }),
    seeded(t, { numRuns, endOnFailure: true }),
  );
  t.pass();
}

test("The journal in memory answers as its model does", async (t) => {
  const open = async (): Promise<System> => {
    const system: { journal?: Journal; now: number } = { now: 0 };
    const journal = memoryJournal({ retentionMs, tombstoneMs, clock: () => system.now });
    return Object.assign(system, { journal });
  };
  await check(t, steps, open, 300);
});

test("The journal in SQLite answers as its model does, over restarts and crashes", async (t) => {
  t.timeout(60_000 + sqliteRuns * 10_000);
  const open = async (): Promise<System> => {
    let path = temporaryPath(t);
    const state = { now: 0 };
    const options = { retentionMs, tombstoneMs, clock: (): number => state.now };
    const system: System = Object.assign(state, {
      journal: await sqliteJournal({ path, ...options }),
      async restart(crashesDuring?: Promise<unknown>) {
        if (crashesDuring !== undefined) {
          const crashed = temporaryPath(t);
          copyAsCrashed(path, crashed);
          path = crashed;
          await crashesDuring;
          await system.journal.close();
        }
        system.journal = await sqliteJournal({ path, ...options });
      },
    });
    return system;
  };
  // Restarts take most of the time, so they are the rarer steps.
  await check(t, [...steps, ...steps, ...steps, ...steps, ...restarts], open, sqliteRuns);
});

async function lookup(journal: Journal, one: CallKey): Promise<string> {
  const found = await journal.lookup(one);
  if (found.state === "nothing" || found.state === "expired") return found.state;
  return `${found.state} ${found.attempt}${found.state === "done" ? ` ${text(found.outcome)}` : ""}`;
}

async function list(journal: Journal): Promise<readonly string[]> {
  return (await journal.list())
    .map(({ runId, callId, state, attempt: at, outcome: result, notes }) =>
      [
        runId,
        callId,
        `${state} ${at}${result === undefined ? "" : ` ${text(result)}`}`,
        ...notes.map((note) => `${note.attempt} ${text(note.outcome)}`).toSorted(),
      ].join(" "),
    )
    .toSorted();
}

async function answerOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    if (isToolPortError(error)) return error.code;
    throw error;
  }
}

function same(title: string, actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`${title}: got ${String(actual)}, expected ${String(expected)}`);
}
