import { appendFileSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import test from "ava";
import * as fc from "fast-check";

import { isToolPortError } from "../../src/errors.ts";
import { JournalClock } from "../../src/journal/retention.ts";
import { openOwned } from "../../src/journal/sqlite-open.ts";
import { SqliteStore } from "../../src/journal/sqlite-store.ts";
import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { findWalDamage } from "../../src/journal/wal-check.ts";
import { claimOf, keyOf, success } from "./calls.ts";
import { rejects } from "./contract.ts";
import { copyAsCrashed, temporaryPath } from "./files.ts";
import { seeded } from "./seeded.ts";

/** Opens a file without its thread, which is quicker, and reads all calls in it. */
function readAll(path: string): ReadonlyMap<string, string> {
  const file = openOwned(path, () => {});
  try {
    const clock = new JournalClock(file.clock, 0);
    const store = new SqliteStore(file, clock, { slackMs: 1000, maxBytes: Infinity });
    const found = new Map<string, string>();
    for (let index = 0; index < 40; index++) {
      let text: string;
      try {
        const { recorded } = store.lookup(keyOf(`c${index}`, `r${index % 3}`));
        text = "outcome" in recorded ? (recorded.outcome?.text ?? recorded.state) : recorded.state;
      } catch (error) {
        text = isToolPortError(error) ? error.code : "CORRUPT";
      }
      found.set(`c${index}`, text);
    }
    return found;
  } finally {
    file.db.close();
  }
}

async function fill(path: string, crashTo?: string): Promise<void> {
  const journal = await sqliteJournal({ path });
  for (let index = 0; index < 40; index++) {
    const key = keyOf(`c${index}`, `r${index % 3}`);
    await journal.claim(claimOf(key));
    const outcome = success(`result ${index} `.repeat(10));
    await journal.end(key, 1, { kind: "outcome", outcome });
  }
  if (crashTo !== undefined) copyAsCrashed(path, crashTo);
  await journal.close();
}

test("A flipped byte anywhere in the file never makes a key claimable or an outcome another", async (t) => {
  const path = temporaryPath(t);
  await fill(path);
  const sound = readAll(path);
  const bytes = readFileSync(path);
  const damagedPath = temporaryPath(t);
  let refused = 0;
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(at) ^ mask, at);
      writeFileSync(damagedPath, copy);
      let found: ReadonlyMap<string, string>;
      try {
        found = readAll(damagedPath);
      } catch {
        refused++;
        return;
      }
      for (const [callId, text] of found) {
        if (text === "JOURNAL_UNAVAILABLE" || text === "CORRUPT") continue;
        if (text !== sound.get(callId)) throw new Error(`${callId} reads ${text}`);
      }
    }),
    seeded(t, { numRuns: 400 }),
  );
  t.true(refused > 0);
});

test("A torn or garbled tail of the write-ahead log leaves all that was acknowledged", async (t) => {
  const path = temporaryPath(t);
  const [before, after, torn] = [temporaryPath(t), temporaryPath(t), temporaryPath(t)];
  const journal = await sqliteJournal({ path });
  for (let index = 0; index < 40; index++) {
    const key = keyOf(`c${index}`, `r${index % 3}`);
    await journal.claim(claimOf(key));
    await journal.end(key, 1, { kind: "outcome", outcome: success(String(index)) });
  }
  const key = keyOf("unacknowledged", "r0");
  await journal.claim(claimOf(key));
  copyAsCrashed(path, before);
  // Large enough for a commit of several frames.
  await journal.end(key, 1, { kind: "outcome", outcome: success("x".repeat(20_000)) });
  copyAsCrashed(path, after);
  await journal.close();
  const wal = readFileSync(`${after}-wal`);
  const start = readFileSync(`${before}-wal`).length;
  const acknowledged = readAll(before);
  t.true(wal.length > start + 2 * 4120);
  const tail = fc.integer({ min: start, max: wal.length - 1 });
  fc.assert(
    fc.property(tail, fc.constantFrom("truncate", "flip", "zero"), (at, how) => {
      copyFileSync(after, torn);
      const copy = Buffer.from(wal);
      if (how === "flip") copy.writeUInt8(copy.readUInt8(at) ^ 0x5a, at);
      if (how === "zero") copy.fill(0, at);
      writeFileSync(`${torn}-wal`, how === "truncate" ? copy.subarray(0, at) : copy);
      const found = readAll(torn);
      for (const [callId, text] of acknowledged) {
        if (found.get(callId) !== text) throw new Error(`${callId} reads ${found.get(callId)}`);
      }
    }),
    seeded(t, { numRuns: 100 }),
  );
  t.pass();
});

test("Damage to an acknowledged commit in the write-ahead log is found wherever it is", async (t) => {
  const [path, crashed, damagedPath] = [temporaryPath(t), temporaryPath(t), temporaryPath(t)];
  await fill(path, crashed);
  const wal = readFileSync(`${crashed}-wal`);
  t.is(findWalDamage(`${crashed}-wal`), undefined);
  fc.assert(
    fc.property(fc.nat(Math.floor(wal.length / 2)), (at) => {
      const copy = Buffer.from(wal);
      copy.writeUInt8(copy.readUInt8(at) ^ 0x5a, at);
      writeFileSync(damagedPath, copy);
      const frame = 1 + Math.floor((at - 32) / 4120);
      return findWalDamage(damagedPath) === (at < 32 ? "its header" : `frame ${frame}`);
    }),
    seeded(t, { numRuns: 200 }),
  );

  const copy = Buffer.from(wal);
  copy.writeUInt8(copy.readUInt8(5000) ^ 1, 5000);
  writeFileSync(`${crashed}-wal`, copy);
  const error = await rejects(t, sqliteJournal({ path: crashed }), "CONFIGURATION");
  t.regex(error.message, /damaged: frame 2 of its write-ahead log.*restore it from a copy/u);
});

test("An empty, a missing and a half-written write-ahead log are sound", (t) => {
  const path = temporaryPath(t);
  t.is(findWalDamage(path), undefined);
  writeFileSync(path, "");
  t.is(findWalDamage(path), undefined);
  writeFileSync(path, Buffer.alloc(20, 1));
  t.is(findWalDamage(path), undefined);
  writeFileSync(path, Buffer.alloc(5000));
  t.is(findWalDamage(path), undefined);
});

test("A damaged record is named at the start, shown to people, and cannot be claimed", async (t) => {
  const path = temporaryPath(t);
  await fill(path);
  const db = new DatabaseSync(path);
  db.exec("UPDATE calls SET state = 1 WHERE call_id = 'c1'");
  db.close();

  const lines: string[] = [];
  const journal = await sqliteJournal({ path, log: (_, message) => lines.push(message) });
  t.teardown(async () => journal.close());
  t.is(lines.length, 1);
  t.regex(lines[0] ?? "", /record of call "c1" in run "r1" is damaged.*restore/u);
  const key = keyOf("c1", "r1");
  const error = await rejects(t, journal.lookup(key), "JOURNAL_UNAVAILABLE");
  t.regex(error.message, /call "c1" in run "r1".*damaged/u);
  t.false(error.message.includes(path));
  await rejects(t, journal.claim(claimOf(key)), "JOURNAL_UNAVAILABLE");
  await rejects(t, journal.end(key, 1, { kind: "lost" }), "JOURNAL_UNAVAILABLE");
  t.like((await journal.list({ callId: "c1" }))[0], { state: "damaged", callId: "c1" });
  t.like(await journal.lookup(keyOf("c4", "r1")), { state: "done" });
});

test("A damaged record of a run closes that run and no other", async (t) => {
  const path = temporaryPath(t);
  await fill(path);
  const db = new DatabaseSync(path);
  db.exec("UPDATE runs SET expired = 0 WHERE run_id = 'r1'");
  db.close();
  const lines: string[] = [];
  const journal = await sqliteJournal({ path, log: (_, message) => lines.push(message) });
  t.teardown(async () => journal.close());
  t.regex(lines.join("\n"), /record of run "r1" is damaged/u);
  await rejects(t, journal.lookup(keyOf("new", "r1")), "JOURNAL_UNAVAILABLE");
  t.like(await journal.lookup(keyOf("c0", "r0")), { state: "done" });
});

test("A key that is damaged in an index alone is found before anything is served", async (t) => {
  const path = temporaryPath(t);
  await fill(path);
  const bytes = readFileSync(path);
  const db = new DatabaseSync(path);
  const root = Number(
    db
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_calls_1'")
      .get()?.["rootpage"],
  );
  db.close();
  const at = bytes.indexOf("c11", (root - 1) * 4096);
  t.true(at > 0 && at < root * 4096);
  bytes.write("cZ", at);
  writeFileSync(path, bytes);
  const error = await rejects(t, sqliteJournal({ path }), "CONFIGURATION");
  t.regex(error.message, /damaged: .*index.*restore/u);
});

for (const [what, spoil, message] of [
  ["is no SQLite file", (path: string) => writeFileSync(path, "hello ".repeat(1000)), /damaged/u],
  [
    "is another program's SQLite file",
    (path: string) => new DatabaseSync(path).exec("CREATE TABLE x (a)"),
    /no journal of this program/u,
  ],
  [
    "is of another version",
    (path: string) => new DatabaseSync(path).exec("PRAGMA user_version = 9"),
    /format 9/u,
  ],
  ["has lost its end", (path: string) => truncateSync(path, 8192), /damaged/u],
  ["has something behind its end", (path: string) => appendFileSync(path, "junk"), undefined],
] as const) {
  test(`A journal whose file ${what} is ${message ? "refused" : "opened"}`, async (t) => {
    const path = temporaryPath(t);
    if (!what.includes("SQLite")) await fill(path);
    spoil(path);
    if (message === undefined) {
      const journal = await sqliteJournal({ path });
      t.like(await journal.lookup(keyOf("c0", "r0")), { state: "done" });
      await journal.close();
      return;
    }
    const error = await rejects(t, sqliteJournal({ path }), "CONFIGURATION");
    t.regex(error.message, message);
    t.true(error.message.includes(path));
  });
}
