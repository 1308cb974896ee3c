import type { ExecutionContext } from "ava";
import test from "ava";

import type { Outcome } from "../../src/domain/call.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { isToolPortError } from "../../src/errors.ts";
import type { CallKey, Journal } from "../../src/journal/journal.ts";
import { claimOf, failure, keyOf, success } from "./calls.ts";

/** What the suite asks a journal to be opened with. */
export interface ContractOptions {
  readonly retentionMs?: number;
  readonly tombstoneMs?: number;
  readonly maxBytes?: number;
  readonly clock?: () => number;
}

/** Opens a fresh, empty journal and has it closed when the test ends. */
export type OpenForContract = (t: ExecutionContext, options?: ContractOptions) => Promise<Journal>;

/** What every journal promises: runs as tests, their titles led by `name`. */
export function journalContract(name: string, open: OpenForContract): void {
  const outcomes: Readonly<Record<string, Outcome>> = {
    "an empty result": success(""),
    "text of every plane": success("\0 é 漢 😀 \u2028 \ud800"),
    "structured data": {
      ...success("text"),
      ok: true,
      result: "text",
      structuredJson: '{"id":12345678901234567890}',
    },
    "content of bytes and of links": {
      ...success("see"),
      content: [
        { mimeType: "image/png", data: new Uint8Array([0, 255, 1]), name: "a.png" },
        { mimeType: "text/html", uri: "https://example.com/" },
        { mimeType: "application/octet-stream", data: new Uint8Array() },
        { mimeType: "audio/ogg", data: new Uint8Array([7]) },
      ],
    },
    "an error": failure("RAISED"),
    "a refusal by budget": failure("BUDGET_EXHAUSTED", 0),
  };

  test(`${name}: a key that was never used is nothing`, async (t) => {
    const journal = await open(t);
    t.deepEqual(await journal.lookup(keyOf("c")), { state: "nothing" });
  });

  test(`${name}: a claimed key is running, with what was claimed`, async (t) => {
    const journal = await open(t);
    const { principal: _, runId: __, callId: ___, ...claim } = claimOf(keyOf("c"));
    t.deepEqual(await journal.claim(claimOf(keyOf("c"))), { attempt: 1 });
    t.deepEqual(await journal.lookup(keyOf("c")), { state: "running", attempt: 1, ...claim });
  });

  for (const [what, outcome] of Object.entries(outcomes)) {
    test(`${name}: ${what} is replayed as it was recorded`, async (t) => {
      const journal = await open(t);
      await journal.claim(claimOf(keyOf("c")));
      t.is(await journal.end(keyOf("c"), 1, { kind: "outcome", outcome }), "recorded");
      const recorded = await journal.lookup(keyOf("c"));
      t.like(recorded, { state: "done", attempt: 1, toolName: "pay" });
      t.deepEqual(recorded.state === "done" && recorded.outcome, { ...outcome, replayed: true });
      t.deepEqual((await journal.list())[0]?.outcome, outcome);
    });
  }

  test(`${name}: principals, runs and call ids are told apart by every character`, async (t) => {
    const journal = await open(t);
    const keys: readonly CallKey[] = [
      keyOf("c", "r", "p"),
      keyOf("C", "r", "p"),
      keyOf("c ", "r", "p"),
      keyOf("c\0", "r", "p"),
      keyOf("c\0d", "r", "p"),
      keyOf("é", "r", "p"),
      keyOf("e\u0301", "r", "p"),
      keyOf("c", "r", ""),
      keyOf("c", "pr", ""),
      keyOf("c", "r", "q"),
      keyOf("c", "R", "p"),
      keyOf("rc", "p", ""),
    ];
    for (const [index, key] of keys.entries()) {
      t.deepEqual(await journal.lookup(key), { state: "nothing" });
      await journal.claim(claimOf(key));
      await journal.end(key, 1, { kind: "outcome", outcome: success(String(index)) });
    }
    for (const [index, key] of keys.entries()) {
      t.like(await journal.lookup(key), { outcome: { result: String(index) } });
    }
  });

  test(`${name}: ids that cannot be told apart are refused`, async (t) => {
    const journal = await open(t);
    for (const key of [keyOf(""), keyOf("c", ""), keyOf("\ud800"), keyOf("c", "\udc00")]) {
      await rejects(t, journal.lookup(key), "REQUEST_INVALID");
      await rejects(t, journal.claim(claimOf(key)), "REQUEST_INVALID");
    }
  });

  test(`${name}: a released key is claimed again as the same attempt`, async (t) => {
    const journal = await open(t);
    await journal.claim(claimOf(keyOf("c")));
    await journal.end(keyOf("c"), 1, { kind: "released" });
    t.like(await journal.lookup(keyOf("c")), { state: "released", attempt: 1 });
    t.deepEqual(await journal.claim(claimOf(keyOf("c"))), { attempt: 1 });
  });

  test(`${name}: a lost key is claimed again as the next attempt`, async (t) => {
    const journal = await open(t);
    await journal.claim(claimOf(keyOf("c"), { idempotent: true }));
    await journal.end(keyOf("c"), 1, { kind: "lost" });
    t.like(await journal.lookup(keyOf("c")), { state: "lost", idempotent: true });
    const again = claimOf(keyOf("c"), { idempotent: true, manifestDigest: "sha256:other" });
    t.deepEqual(await journal.claim(again), { attempt: 2 });
    t.like(await journal.lookup(keyOf("c")), { state: "running", manifestDigest: "sha256:other" });
  });

  test(`${name}: the late outcome of a lost call is recorded`, async (t) => {
    const journal = await open(t);
    await journal.claim(claimOf(keyOf("c")));
    await journal.end(keyOf("c"), 1, { kind: "lost" });
    const end = journal.end(keyOf("c"), 1, { kind: "outcome", outcome: success("late") });
    t.is(await end, "recorded");
    t.like(await journal.lookup(keyOf("c")), { state: "done", outcome: { result: "late" } });
  });

  test(`${name}: an outcome that comes after the key has moved on is noted once`, async (t) => {
    const journal = await open(t);
    await journal.claim(claimOf(keyOf("c")));
    await journal.end(keyOf("c"), 1, { kind: "lost" });
    await journal.claim(claimOf(keyOf("c")));
    const late = { kind: "outcome", outcome: success("late") } as const;
    t.is(await journal.end(keyOf("c"), 1, late), "noted");
    t.is(await journal.end(keyOf("c"), 1, late), "noted");
    await journal.end(keyOf("c"), 2, { kind: "outcome", outcome: failure("TIMED_OUT", 2) });
    const later = { kind: "outcome", outcome: success("later", 2) } as const;
    t.is(await journal.end(keyOf("c"), 2, later), "noted");
    const [entry] = await journal.list();
    t.like(entry, { state: "done", attempt: 2, outcome: { errorKind: "TIMED_OUT" } });
    t.deepEqual(entry?.notes, [
      { attempt: 1, outcome: late.outcome },
      { attempt: 2, outcome: later.outcome },
    ]);
  });

  test(`${name}: an ending may be asked for again`, async (t) => {
    const journal = await open(t);
    for (const ending of [
      { kind: "outcome", outcome: success("x") },
      { kind: "lost" },
      { kind: "released" },
    ] as const) {
      const key = keyOf(ending.kind);
      await journal.claim(claimOf(key));
      t.is(await journal.end(key, 1, ending), "recorded");
      t.is(await journal.end(key, 1, ending), "recorded");
      t.deepEqual((await journal.list({ callId: ending.kind }))[0]?.notes, []);
    }
  });

  test(`${name}: what is no arrow of a record's life is a defect`, async (t) => {
    const journal = await open(t);
    const [running, done, released, lost] = ["running", "done", "released", "lost"].map((id) =>
      keyOf(id),
    );
    if (!running || !done || !released || !lost) throw new Error("four keys");
    const outcome = { kind: "outcome", outcome: success("x") } as const;
    for (const key of [running, done, released, lost]) await journal.claim(claimOf(key));
    await journal.end(done, 1, outcome);
    await journal.end(released, 1, { kind: "released" });
    await journal.end(lost, 1, { kind: "lost" });
    await rejects(t, journal.claim(claimOf(running)), "INTERNAL");
    await rejects(t, journal.claim(claimOf(done)), "INTERNAL");
    await rejects(t, journal.end(running, 2, outcome), "INTERNAL");
    await rejects(t, journal.end(running, 0, outcome), "INTERNAL");
    await rejects(t, journal.end(released, 1, outcome), "INTERNAL");
    await rejects(t, journal.end(released, 1, { kind: "lost" }), "INTERNAL");
    await rejects(t, journal.end(lost, 1, { kind: "released" }), "INTERNAL");
    await rejects(t, journal.end(keyOf("never"), 1, outcome), "INTERNAL");
    t.like(await journal.lookup(running), { state: "running", attempt: 1 });
  });

  test(`${name}: a key is never claimed for another call`, async (t) => {
    const journal = await open(t);
    for (const kind of ["released", "lost"] as const) {
      await journal.claim(claimOf(keyOf(kind)));
      await journal.end(keyOf(kind), 1, { kind });
      const other = claimOf(keyOf(kind), { callDigest: "sha256:other" });
      await rejects(t, journal.claim(other), "CALL_ID_REUSED");
    }
  });

  test(`${name}: one operation that is refused takes no other with it`, async (t) => {
    const journal = await open(t);
    await journal.claim(claimOf(keyOf("held")));
    const results = await Promise.allSettled([
      journal.claim(claimOf(keyOf("a"))),
      journal.claim(claimOf(keyOf("held"))),
      journal.claim(claimOf(keyOf("b"))),
    ]);
    t.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    t.like(await journal.lookup(keyOf("b")), { state: "running" });
  });

  test(`${name}: started counts the calls of a tool in a run whose tool started`, async (t) => {
    const journal = await open(t);
    const started = async (): Promise<number> => journal.started(keyOf("any"), "pay");
    t.is(await started(), 0);
    for (const id of ["running", "done", "released", "lost", "refused", "unknown"]) {
      await journal.claim(claimOf(keyOf(id)));
    }
    t.is(await started(), 6);
    await journal.end(keyOf("done"), 1, { kind: "outcome", outcome: success("x") });
    await journal.end(keyOf("released"), 1, { kind: "released" });
    await journal.end(keyOf("lost"), 1, { kind: "lost" });
    const refused = failure("BUDGET_EXHAUSTED", 0);
    await journal.end(keyOf("refused"), 1, { kind: "outcome", outcome: refused });
    await journal.end(keyOf("unknown"), 1, { kind: "lost" });
    const unknown = failure("INDETERMINATE", 0);
    await journal.end(keyOf("unknown"), 1, { kind: "outcome", outcome: unknown });
    t.is(await started(), 4);
    await journal.claim(claimOf(keyOf("lost")));
    await journal.claim(claimOf(keyOf("other tool"), { toolName: "look" }));
    await journal.claim(claimOf(keyOf("other run", "r2")));
    await journal.claim(claimOf(keyOf("other principal", "r", "someone")));
    t.is(await started(), 4);
    await journal.claim(claimOf(keyOf("released")));
    t.is(await started(), 5);
    t.is(await journal.started(keyOf("any"), "look"), 1);
  });

  test(`${name}: a list shows the newest use first, of a run or a call, up to its limit`, async (t) => {
    let now = 0;
    const journal = await open(t, { clock: () => now });
    for (const [at, runId] of [
      [100, "r1"],
      [200, "r2"],
      [300, "r1"],
      [400, "r3"],
    ] as const) {
      now = at;
      await journal.claim(claimOf(keyOf(`c${at}`, runId)));
    }
    now = 500;
    const ids = (entries: Awaited<ReturnType<Journal["list"]>>): string[] =>
      entries.map((entry) => entry.callId);
    t.deepEqual(ids(await journal.list()), ["c400", "c300", "c200", "c100"]);
    t.deepEqual(ids(await journal.list({ runId: "r1" })), ["c300", "c100"]);
    t.deepEqual(ids(await journal.list({ limit: 2 })), ["c400", "c300"]);
    t.deepEqual(ids(await journal.list({ runId: "r1", callId: "c100" })), ["c100"]);
    t.deepEqual(ids(await journal.list({ limit: 0 })), []);
    t.deepEqual(
      (await journal.list()).map((entry) => entry.idleMs),
      [100, 200, 300, 400],
    );
    await journal.lookup(keyOf("c100", "r1"));
    t.deepEqual(ids(await journal.list()), ["c100", "c400", "c300", "c200"]);
  });

  test(`${name}: retention keeps a run from its last use on, then its keys are expired`, async (t) => {
    let now = 0;
    const journal = await open(t, { clock: () => now, retentionMs: 1000, tombstoneMs: 10_000 });
    for (const id of ["a", "b"]) {
      await journal.claim(claimOf(keyOf(id)));
      await journal.end(keyOf(id), 1, { kind: "outcome", outcome: success(id) });
    }
    now = 900;
    t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
    await journal.lookup(keyOf("a"));
    now = 1800;
    t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
    await journal.touch(keyOf("any"));
    now = 2700;
    t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
    now = 3000;
    t.deepEqual(await journal.prune(), { records: 2, runs: 1 });
    for (const id of ["a", "b", "never used"]) {
      t.deepEqual(await journal.lookup(keyOf(id)), { state: "expired" });
      await rejects(t, journal.claim(claimOf(keyOf(id))), "RUN_EXPIRED");
    }
    t.deepEqual(await journal.lookup(keyOf("a", "r", "someone")), { state: "nothing" });
    t.is(await journal.end(keyOf("a"), 1, { kind: "outcome", outcome: success("late") }), "noted");
    await journal.touch(keyOf("any"));
    t.deepEqual(await journal.list(), []);
    now = 12_000;
    await journal.prune();
    t.deepEqual(await journal.lookup(keyOf("a")), { state: "expired" });
    now = 14_000;
    await journal.prune();
    t.deepEqual(await journal.lookup(keyOf("a")), { state: "nothing" });
  });

  test(`${name}: a run with a running call is never pruned`, async (t) => {
    let now = 0;
    const journal = await open(t, { clock: () => now, retentionMs: 1000 });
    await journal.claim(claimOf(keyOf("c")));
    now = 1_000_000;
    t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
    await journal.end(keyOf("c"), 1, { kind: "outcome", outcome: success("x") });
    t.like(await journal.lookup(keyOf("c")), { state: "done" });
  });

  test(`${name}: pruning removes more than it does in one step`, async (t) => {
    let now = 0;
    const journal = await open(t, { clock: () => now, retentionMs: 1000 });
    const keys = Array.from({ length: 700 }, (_, index) =>
      keyOf(`c${index}`, index < 300 ? "large" : `small ${index % 200}`),
    );
    await Promise.all(
      keys.map(async (key) => {
        await journal.claim(claimOf(key));
        await journal.end(key, 1, { kind: "lost" });
      }),
    );
    now = 5000;
    const [pruned, claimed] = await Promise.all([
      journal.prune(),
      journal.claim(claimOf(keyOf("new", "new"))),
    ]);
    t.deepEqual(pruned, { records: 700, runs: 201 });
    t.deepEqual(claimed, { attempt: 1 });
    t.is((await journal.list()).length, 1);
  });

  test(`${name}: a clock that goes back expires nothing`, async (t) => {
    let now = 1_000_000;
    const journal = await open(t, { clock: () => now, retentionMs: 1000 });
    await journal.claim(claimOf(keyOf("c")));
    await journal.end(keyOf("c"), 1, { kind: "lost" });
    now = 0;
    t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
    t.like((await journal.list())[0], { idleMs: 0 });
  });

  test(`${name}: when it is full, new claims are refused and endings are taken`, async (t) => {
    let now = 0;
    const journal = await open(t, { clock: () => now, retentionMs: 1000, maxBytes: 200_000 });
    const outcome = success("x".repeat(10_000));
    let filled = 0;
    let error: unknown;
    await journal.claim(claimOf(keyOf("running")));
    for (; error === undefined && filled < 100; filled++) {
      const key = keyOf(`c${filled}`);
      error = await journal.claim(claimOf(key)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) await journal.end(key, 1, { kind: "outcome", outcome });
    }
    t.true(filled > 3 && filled < 100);
    t.like(error, { code: "JOURNAL_UNAVAILABLE" });
    t.regex(String(error), /full.*200000.*maxBytes/u);
    t.is(await journal.end(keyOf("running"), 1, { kind: "outcome", outcome }), "recorded");
    t.like(await journal.lookup(keyOf("c0")), { state: "done" });
    now = 5000;
    await journal.prune();
    t.deepEqual(await journal.claim(claimOf(keyOf("c", "next"))), { attempt: 1 });
  });

  test(`${name}: closing waits for what is under way, and then nothing can be asked`, async (t) => {
    const journal = await open(t);
    const claims = Promise.all(["a", "b"].map(async (id) => journal.claim(claimOf(keyOf(id)))));
    await Promise.all([journal.close(), journal.close()]);
    t.deepEqual(await claims, [{ attempt: 1 }, { attempt: 1 }]);
    await rejects(t, journal.lookup(keyOf("a")), "JOURNAL_UNAVAILABLE");
    await rejects(t, journal.prune(), "JOURNAL_UNAVAILABLE");
    await journal.close();
  });
}

/** Asserts that a promise rejects with an error of this package that bears that code. */
export async function rejects(
  t: ExecutionContext,
  promise: Promise<unknown>,
  code: ErrorCode,
): Promise<Error> {
  const error = await t.throwsAsync(promise);
  t.true(isToolPortError(error), String(error));
  t.is(isToolPortError(error) ? error.code : undefined, code);
  return error ?? new Error("nothing was thrown");
}
