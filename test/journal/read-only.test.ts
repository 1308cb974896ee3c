import { writeFileSync } from "node:fs";

import test from "ava";

import { openJournalReadOnly } from "../../src/journal/read-only.ts";
import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";
import { copyAsCrashed, temporaryPath } from "./files.ts";

test("A journal can be read while its owner goes on", async (t) => {
  const path = temporaryPath(t);
  const journal = await sqliteJournal({ path });
  await journal.claim(claimOf(keyOf("a")));
  const reader = openJournalReadOnly(path);
  t.like((await reader.list())[0], { callId: "a", state: "running", attempt: 1, notes: [] });
  await journal.end(keyOf("a"), 1, { kind: "outcome", outcome: success("x") });
  await journal.claim(claimOf(keyOf("b", "r2")));
  t.like((await reader.list({ callId: "a" }))[0], { state: "done", outcome: { result: "x" } });
  t.is((await reader.list()).length, 2);
  t.is((await reader.list({ runId: "r2" })).length, 1);
  reader.close();
  await journal.close();
});

test("A journal can be read after its owner has closed it, and after a crash", async (t) => {
  const [path, crashed] = [temporaryPath(t), temporaryPath(t)];
  const journal = await sqliteJournal({ path });
  await journal.claim(claimOf(keyOf("a")));
  copyAsCrashed(path, crashed);
  await journal.close();
  for (const file of [path, crashed]) {
    const reader = openJournalReadOnly(file);
    t.like((await reader.list())[0], { callId: "a", state: "running" });
    reader.close();
    const next = await sqliteJournal({ path: file });
    t.like(await next.lookup(keyOf("a")), { state: "lost" });
    await next.close();
  }
});

test("What cannot be read is named", (t) => {
  const path = temporaryPath(t);
  t.throws(() => openJournalReadOnly(path), { message: /no journal at .*journal\.db/u });
  writeFileSync(path, "hello ".repeat(1000));
  t.throws(() => openJournalReadOnly(path), { message: /journal\.db is damaged/u });
});
