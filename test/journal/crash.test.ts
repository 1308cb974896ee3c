import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";

import test from "ava";

import { openSqliteJournal, sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";
import { rejects } from "./contract.ts";
import { temporaryPath } from "./files.ts";

const kills = Number(process.env["TOOLPORT_KILLS"] ?? 20);
const childFile = new URL("crash-child.ts", import.meta.url).pathname;

function start(path: string, prefix: string): { child: ChildProcess; output: () => string } {
  const linesPath = `${path}.${prefix}.lines`;
  const child = spawn(process.execPath, [childFile, path, prefix, linesPath], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { child, output: () => (existsSync(linesPath) ? readFileSync(linesPath, "utf8") : "") };
}

async function untilOpen(started: ReturnType<typeof start>): Promise<void> {
  while (!started.output().startsWith("open\n")) {
    if (started.child.exitCode !== null) throw new Error("the child has ended");
    await sleep(5);
  }
}

test(`Whatever was acknowledged is there after SIGKILL, ${kills} times over`, async (t) => {
  t.timeout(60_000 + kills * 5000);
  const path = temporaryPath(t);
  let acknowledged = 0;
  for (let round = 0; round < kills; round++) {
    const started = start(path, `k${round}`);
    const exit = once(started.child, "close");
    await untilOpen(started);
    await sleep(Math.random() * 150);
    started.child.kill("SIGKILL");
    await exit;

    const lines = started.output().split("\n").slice(1, -1);
    const ended = new Set(lines.filter((line) => line.startsWith("ended")).map(withoutVerb));
    const claimed = lines.filter((line) => line.startsWith("claimed")).map(withoutVerb);
    acknowledged += ended.size;
    const journal = await sqliteJournal({ path, graceMs: 5000 });
    const found = await Promise.all(
      claimed.map(async (key) => {
        const [runId = "", callId = ""] = key.split(" ");
        return { key, callId, recorded: await journal.lookup(keyOf(callId, runId)) };
      }),
    );
    for (const { key, callId, recorded } of found) {
      if (recorded.state === "done") {
        const result = recorded.outcome.ok ? recorded.outcome.result : "";
        if (!result.startsWith(callId)) t.fail(`${key} came back as ${result}`);
      } else if (recorded.state !== "lost" || ended.has(key)) {
        t.fail(`${key} is ${recorded.state}, acknowledged: ${ended.has(key)}`);
      }
    }
    await journal.close();
  }
  t.true(acknowledged > 0);
});

test("A second process is told which one owns the journal, and takes over when that is gone", async (t) => {
  const path = temporaryPath(t);
  const started = start(path, "owner");
  t.teardown(() => started.child.kill("SIGKILL"));
  await untilOpen(started);
  const error = await rejects(t, sqliteJournal({ path, graceMs: 100 }), "CONFIGURATION");
  t.regex(error.message, new RegExp(`belongs to process ${started.child.pid}\\b`, "u"));

  const opening = sqliteJournal({ path, graceMs: 30_000 });
  await sleep(100);
  started.child.kill("SIGKILL");
  const journal = await opening;
  t.teardown(async () => journal.close());
  const entries = await journal.list({ limit: 10_000 });
  t.true(entries.length > 0);
  t.true(entries.every((entry) => entry.state === "lost" || entry.state === "done"));
});

test("A second journal on one file is refused in one process too, and does no harm", async (t) => {
  const path = temporaryPath(t);
  const first = await sqliteJournal({ path });
  await rejects(t, sqliteJournal({ path }), "CONFIGURATION");
  await rejects(t, sqliteJournal({ path }), "CONFIGURATION");
  t.deepEqual(await first.claim(claimOf(keyOf("c"))), { attempt: 1 });
  await first.close();
  const second = await sqliteJournal({ path });
  t.like(await second.lookup(keyOf("c")), { state: "lost" });
  await second.close();
});

test("When its thread dies, all that is under way and all that comes later is rejected", async (t) => {
  const path = temporaryPath(t);
  let worker: Worker | undefined;
  const hooks = { worker: (one: Worker) => (worker = one) };
  const journal = await openSqliteJournal({ path }, hooks);
  await journal.claim(claimOf(keyOf("kept")));
  const pending = ["a", "b", "c"].map(async (id) => journal.lookup(keyOf(id)));
  const settled = Promise.allSettled(pending);
  await worker?.terminate();
  for (const result of await settled) {
    // One may have been answered before the end.
    if (result.status === "rejected") t.like(result.reason, { code: "JOURNAL_UNAVAILABLE" });
  }
  const end = journal.end(keyOf("kept"), 1, { kind: "outcome", outcome: success("x") });
  await rejects(t, end, "JOURNAL_UNAVAILABLE");
  await rejects(t, journal.lookup(keyOf("kept")), "JOURNAL_UNAVAILABLE");
  await journal.close();
  const next = await sqliteJournal({ path });
  t.like(await next.lookup(keyOf("kept")), { state: "lost" });
  await next.close();
});

function withoutVerb(line: string): string {
  return line.slice(line.indexOf(" ") + 1);
}
