import test from "ava";
import * as fc from "fast-check";

import type { Journal } from "../../src/journal/journal.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { claimOf, keyOf, success } from "./calls.ts";
import { rejects } from "./contract.ts";
import { seeded } from "./seeded.ts";

const mib = 2 ** 20;

/** A journal of one mebibyte that makes room, and its clock in milliseconds. */
function forgetful(maxBytes = mib): { journal: Journal; clock: { now: number } } {
  const clock = { now: 0 };
  const journal = memoryJournal({ maxBytes, whenFull: "forget", clock: () => clock.now });
  return { journal, clock };
}

async function complete(journal: Journal, callId: string, runId: string, bytes = 0): Promise<void> {
  const key = keyOf(callId, runId);
  const { attempt } = await journal.claim(claimOf(key));
  const outcome = { ...success("x".repeat(bytes / 2)), attempt };
  await journal.end(key, attempt, { kind: "outcome", outcome });
}

test("Past its bound the longest idle runs go as a whole, and their keys never start again", async (t) => {
  const { journal, clock } = forgetful();
  for (let run = 0; run < 2000; run++) {
    clock.now += 1;
    await complete(journal, "a", `r${run}`);
    await complete(journal, "b", `r${run}`, 1000);
  }
  for (const callId of ["a", "b", "never-used"]) {
    t.deepEqual(await journal.lookup(keyOf(callId, "r0")), { state: "expired" });
    await rejects(t, journal.claim(claimOf(keyOf(callId, "r0"))), "RUN_EXPIRED");
  }
  t.is(await journal.end(keyOf("a", "r0"), 1, { kind: "lost" }), "noted");
  t.is(await journal.started(keyOf("a", "r0"), "pay"), 0);
  t.like(await journal.lookup(keyOf("a", "r1999")), { state: "done" });
  t.deepEqual(await journal.lookup(keyOf("new", "r1999")), { state: "nothing" });
  await journal.close();
});

test("A run that was used last goes last", async (t) => {
  const { journal } = forgetful();
  await complete(journal, "a", "old");
  for (let run = 0; run < 2000; run++) {
    await complete(journal, "a", `r${run}`, 1000);
    t.like(await journal.lookup(keyOf("a", "old")), { state: "done" });
  }
  await journal.close();
});

test("A run with a running call stays, and so does one that is said to be live", async (t) => {
  const { journal, clock } = forgetful();
  await journal.claim(claimOf(keyOf("a", "running")));
  await journal.touch(keyOf("a", "live"));
  await complete(journal, "a", "live");
  await complete(journal, "a", "was-live");
  await journal.touch(keyOf("a", "was-live"));
  clock.now += 100_000;
  await journal.touch(keyOf("a", "live"));
  clock.now += 100_000;
  for (let run = 0; run < 2000; run++) await complete(journal, "a", `r${run}`, 1000);
  t.like(await journal.lookup(keyOf("a", "running")), { state: "running" });
  t.like(await journal.lookup(keyOf("a", "live")), { state: "done" });
  t.like(await journal.lookup(keyOf("a", "was-live")), { state: "expired" });
  await journal.close();
});

test("A live run that takes more than the bound loses its oldest outcomes, and no key starts again", async (t) => {
  const { journal } = forgetful();
  await journal.touch(keyOf("a", "r"));
  await journal.claim(claimOf(keyOf("running", "r")));
  for (let call = 0; call < 2000; call++) await complete(journal, `c${call}`, "r", 10_000);
  t.deepEqual(await journal.lookup(keyOf("c0", "r")), { state: "expired" });
  await rejects(t, journal.claim(claimOf(keyOf("c0", "r"))), "RUN_EXPIRED");
  t.is(await journal.end(keyOf("c0", "r"), 1, { kind: "lost" }), "noted");
  t.like(await journal.lookup(keyOf("running", "r")), { state: "running" });
  t.like(await journal.lookup(keyOf("c1999", "r")), { state: "done" });
  t.deepEqual(await journal.lookup(keyOf("new", "r")), { state: "nothing" });
  t.is(await journal.started(keyOf("any", "r"), "pay"), 2001);
  await journal.close();
});

test("A claim is refused where nothing is left that may go", async (t) => {
  const { journal } = forgetful(100_000);
  let claimed = 0;
  const error = await rejects(
    t,
    (async () => {
      for (; claimed < 10_000; claimed++) await journal.claim(claimOf(keyOf(`c${claimed}`, "r")));
    })(),
    "JOURNAL_UNAVAILABLE",
  );
  t.regex(error.message, /is full: .* of the 100000 that it may/);
  t.true(claimed > 10);
  await journal.end(keyOf("c0", "r"), 1, { kind: "lost" });
  await journal.claim(claimOf(keyOf("after", "r")));
  await journal.close();
});

test("Whatever is asked, no key that was claimed is ever nothing while its run's tombstone stands", async (t) => {
  const ids = fc.tuple(fc.nat(30), fc.nat(20), fc.nat(20_000), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(ids, { minLength: 200, maxLength: 300 }), async (calls) => {
      const { journal } = forgetful(200_000);
      const claimed = new Set<string>();
      for (const [run, call, bytes, isLive] of calls) {
        const key = keyOf(`c${call}`, `r${run}`);
        if (isLive) await journal.touch(key);
        const { state } = await journal.lookup(key);
        const name = `${run} ${call}`;
        if (claimed.has(name) && state === "nothing") throw new Error(`${name} has no record`);
        if (state !== "nothing") continue;
        await complete(journal, key.callId, key.runId, bytes);
        claimed.add(name);
      }
      await journal.close();
    }),
    seeded(t, { numRuns: 30 }),
  );
  t.pass();
});
