import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

import test from "ava";

import { openSqliteJournal, sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";
import { rejects } from "./contract.ts";
import { copyAsCrashed, temporaryPath } from "./files.ts";

test("On a full disk a write is rejected, reads go on, and so does all when space comes back", async (t) => {
  const path = temporaryPath(t);
  let now = 0;
  const lines: string[] = [];
  const log = (_: string, message: string): number => lines.push(message);
  const options = { path, retentionMs: 1000, clock: () => now, log };
  const journal = await openSqliteJournal(options, { maxPages: 60 });
  const acknowledged: string[] = [];
  let error: unknown;
  for (let index = 0; error === undefined && index < 100; index++) {
    const key = keyOf(`c${index}`);
    try {
      await journal.claim(claimOf(key));
      await journal.end(key, 1, { kind: "outcome", outcome: success("x".repeat(8000)) });
      acknowledged.push(key.callId);
    } catch (reason) {
      error = reason;
    }
  }
  t.like(error, { code: "JOURNAL_UNAVAILABLE" });
  t.regex(String(error), /disk is full/u);
  t.is(lines.length, 1);
  t.true(acknowledged.length > 3);
  for (const callId of acknowledged) {
    t.like(await journal.lookup(keyOf(callId)), { state: "done" });
  }
  const last = keyOf(`c${acknowledged.length}`);
  // A small ending finds room where a large one did not.
  await journal.end(last, 1, { kind: "lost" });
  now = 5000;
  t.like(await journal.prune(), { runs: 1 });
  await journal.claim(claimOf(keyOf("c", "next")));
  const outcome = success("x".repeat(50_000));
  t.is(await journal.end(keyOf("c", "next"), 1, { kind: "outcome", outcome }), "recorded");
  t.regex(lines.at(-1) ?? "", /can be written again/u);
  await journal.close();
});

test("One write that is too large for the disk takes no other with it", async (t) => {
  const path = temporaryPath(t);
  const journal = await openSqliteJournal({ path, log: () => {} }, { maxPages: 60 });
  t.teardown(async () => journal.close());
  const keys = ["a", "large", "b"].map((id) => keyOf(id));
  await Promise.all(keys.map(async (key) => journal.claim(claimOf(key))));
  const ends = await Promise.allSettled(
    keys.map(async (key) => {
      const outcome = success(key.callId === "large" ? "x".repeat(1_000_000) : "x");
      return journal.end(key, 1, { kind: "outcome", outcome });
    }),
  );
  t.deepEqual(
    ends.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  t.like(ends[1], { reason: { code: "JOURNAL_UNAVAILABLE", started: "unknown" } });
  t.like(await journal.lookup(keyOf("large")), { state: "running" });
});

test("A disk that is really full loses nothing that was acknowledged", (t) => {
  const directory = join(dirname(temporaryPath(t)), "small");
  mkdirSync(directory);
  const child = new URL("full-disk-child.ts", import.meta.url).pathname;
  const script = 'mount -t tmpfs -o size=3m tmpfs "$1" || exit 77; exec "$2" "$3" "$1"';
  const { status, stdout, stderr } = spawnSync(
    "unshare",
    ["--map-root-user", "--mount", "sh", "-c", script, "sh", directory, process.execPath, child],
    { encoding: "utf8" },
  );
  if (status === null || stderr.includes("unshare") || status === 77) {
    t.log("skipped: this machine lets no test mount a file system of its own");
    t.pass();
    return;
  }
  t.is(status, 0, stderr);
  const found: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  t.like(found, { code: "JOURNAL_UNAVAILABLE", readWhileFull: "done", lost: 0 });
});

test("All files of a journal are its owner's alone, and a wide one is narrowed", async (t) => {
  const path = temporaryPath(t);
  const journal = await sqliteJournal({ path });
  await journal.claim(claimOf(keyOf("c")));
  const names = readdirSync(dirname(path)).toSorted();
  t.deepEqual(
    names,
    ["", "-shm", "-wal", ".lock", ".owner"].map((suffix) => `journal.db${suffix}`),
  );
  for (const name of names) t.is(statSync(join(dirname(path), name)).mode & 0o777, 0o600, name);
  await journal.close();
});

test("A directory that does not exist is named, and not created", async (t) => {
  const path = join(dirname(temporaryPath(t)), "none", "journal.db");
  const error = await rejects(t, sqliteJournal({ path }), "CONFIGURATION");
  t.regex(error.message, /directory .*none does not exist; create it first/u);
});

test("A link and what it points at are one journal", async (t) => {
  const path = temporaryPath(t);
  const journal = await sqliteJournal({ path });
  t.teardown(async () => journal.close());
  const link = join(dirname(path), "link.db");
  symlinkSync(path, link);
  await rejects(t, sqliteJournal({ path: link }), "CONFIGURATION");
});

test("The clock goes on over restarts, and the time between them does not count", async (t) => {
  const path = temporaryPath(t);
  let now = 0;
  const open = async (): ReturnType<typeof sqliteJournal> =>
    sqliteJournal({ path, retentionMs: 10_000, clock: () => now });
  let journal = await open();
  await journal.claim(claimOf(keyOf("c")));
  await journal.end(keyOf("c"), 1, { kind: "outcome", outcome: success("x") });
  now = 6000;
  await journal.close();
  now = 1_000_000_000;
  journal = await open();
  t.deepEqual(await journal.prune(), { records: 0, runs: 0 });
  now += 6000;
  t.deepEqual(await journal.prune(), { records: 1, runs: 1 });
  await journal.close();
});

test("A look-up counts as a use even where a crash follows", async (t) => {
  const [path, crashed] = [temporaryPath(t), temporaryPath(t)];
  let now = 0;
  const options = { retentionMs: 10_000, clock: () => now };
  const journal = await sqliteJournal({ path, ...options });
  t.teardown(async () => journal.close());
  await journal.claim(claimOf(keyOf("c")));
  await journal.end(keyOf("c"), 1, { kind: "outcome", outcome: success("x") });
  now = 9000;
  await journal.lookup(keyOf("c"));
  copyAsCrashed(path, crashed);
  const next = await sqliteJournal({ path: crashed, ...options });
  now = 18_000;
  t.deepEqual(await next.prune(), { records: 0, runs: 0 });
  await next.close();
});

test("A wall clock that jumps by centuries expires nothing", (t) => {
  const path = temporaryPath(t);
  const run = (yearsAhead: number): string => {
    const shift = `const now = Date.now; Date.now = () => now() + ${yearsAhead} * 31557600000;`;
    const use = `
      const { sqliteJournal } = await import(${JSON.stringify(new URL("../../src/journal/sqlite.ts", import.meta.url).href)});
      const journal = await sqliteJournal({ path: ${JSON.stringify(path)} });
      const key = { principal: "p", runId: "r", callId: "c" };
      const found = await journal.lookup(key);
      if (found.state === "nothing") {
        await journal.claim({ ...key, toolName: "t", callDigest: "d", manifestDigest: "m", idempotent: false });
      }
      const pruned = await journal.prune();
      console.log(found.state, pruned.runs, new Date(Date.now()).getFullYear());
      await journal.close();`;
    const preload = `data:text/javascript,${encodeURIComponent(shift)}`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", use],
      // Threads take their flags from here too.
      { encoding: "utf8", env: { ...process.env, NODE_OPTIONS: `--import ${preload}` } },
    );
    return stdout + stderr;
  };
  const year = new Date().getFullYear();
  t.is(run(0), `nothing 0 ${year}\n`);
  t.regex(run(500), /^lost 0 2[5-9]\d\d\n$/u);
  t.regex(run(-40), /^lost 0 \d{4}\n$/u);
});
