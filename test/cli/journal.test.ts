import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

import anyTest from "ava";

import { toolsText } from "./lib/tools-text.ts";
import { type Finished, type Sidecar, Workplace } from "./lib/run-cli.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
const tools = place.write("tools.ts", toolsText);
anyTest.after.always(() => place.remove());

const path = (name: string): string => join(place.path, name);

function call(sidecar: Sidecar, runId: string, callId: string, text = "hi"): Promise<Finished> {
  const key = ["--run-id", runId, "--call-id", callId, "--address", sidecar.ready.address];
  return place.run(["call", "shout", `text=${text}`, ...key]);
}

function read(finished: Finished): Record<string, unknown> {
  return JSON.parse(finished.stdout) as Record<string, unknown>;
}

async function features(sidecar: Sidecar): Promise<unknown> {
  const manifest = await place.run(["manifest", "--address", sidecar.ready.address]);
  return (read(manifest)["server"] as { features: unknown }).features;
}

test("with a journal in a file a call is answered from its record after a restart", async (t) => {
  const journal = path("restart.db");
  const first = await place.serve([tools, "--journal", journal]);
  t.like(read(await call(first, "r", "c")), { result: "HI", replayed: false });
  t.true(((await features(first)) as string[]).includes("journal"));
  t.is(statSync(journal).mode & 0o777, 0o600);
  await first.stop("SIGKILL");
  const second = await place.serve([tools], { TOOLPORT_JOURNAL: journal });
  t.like(read(await call(second, "r", "c")), { result: "HI", replayed: true });
  t.is((await call(second, "r", "c", "another call")).code, 1);
  t.is(await second.stop(), 0);
  t.false(existsSync(`${journal}-wal`), "a drained sidecar leaves no log behind");
});

test("where nothing is said, the journal lives as long as the process", async (t) => {
  const sidecar = await place.serve([tools]);
  t.true(((await features(sidecar)) as string[]).includes("journal-memory"));
  t.like(read(await call(sidecar, "r", "c")), { replayed: false });
  t.like(read(await call(sidecar, "r", "c")), { result: "HI", replayed: true });
  await sidecar.stop();
});

test("without a journal the same call runs again", async (t) => {
  const sidecar = await place.serve([tools, "--journal", "none"]);
  t.false(((await features(sidecar)) as string[]).some((one) => one.startsWith("journal")));
  t.like(read(await call(sidecar, "r", "c")), { replayed: false });
  t.like(read(await call(sidecar, "r", "c")), { replayed: false });
  await sidecar.stop();
});

test("a journal that another sidecar holds is waited for, then refused naming the holder", async (t) => {
  const journal = path("held.db");
  const holder = await place.serve([tools, "--journal", journal]);
  const args = ["serve", tools, "--journal", journal, "--drain-grace-ms"];
  const refused = await place.run([...args, "50"]);
  t.is(refused.code, 2);
  t.is(refused.stdout, "");
  t.regex(
    refused.stderr,
    new RegExp(`toolport: the journal .*held\\.db belongs to process ${holder.ready.pid}\\b`, "u"),
  );
  const waiting = place.serve([tools, "--journal", journal, "--drain-grace-ms", "60000"]);
  await holder.stop();
  const next = await waiting;
  t.is(await next.stop(), 0);
});

test("journal ls and show tell of the records beside a running sidecar", async (t) => {
  const journal = path("look.db");
  const sidecar = await place.serve([tools, "--journal", journal]);
  await call(sidecar, "r1", "c1");
  await call(sidecar, "r2", "c2", "there");
  const env = { TOOLPORT_JOURNAL: journal };
  const listed = await place.run(["journal", "ls", "--output", "text"], env);
  t.is(listed.code, 0, listed.stderr);
  t.regex(
    listed.stdout,
    /^RUN +CALL +TOOL +STATE +ATTEMPT +IDLE +OUTCOME\nr2 +c2 +shout +done +1/u,
  );
  t.regex(listed.stdout, /THERE\nr1 +c1 .*\n\n2 records\n$/u);
  const one = read(await place.run(["journal", "ls", "--run", "r1"], env));
  const [entry, ...others] = one["entries"] as object[];
  t.deepEqual(others, []);
  t.like(entry, { runId: "r1", callId: "c1", name: "shout", state: "done", ok: true });
  const shown = await place.run(["journal", "show", "r2", "c2", "--output", "text"], env);
  t.regex(shown.stdout, /state +done\n[^]*outcome: ok after .*\nTHERE\n/u);
  const detail = read(await place.run(["journal", "show", "r2", "c2", "--json"], env));
  t.like((detail["entries"] as object[])[0], { outcome: { ok: true, result: "THERE" } });
  const absent = await place.run(["journal", "show", "r2", "c9"], env);
  t.is(absent.code, 1);
  t.regex(absent.stderr, /has no record of call "c9" in run "r2"/u);
  const prune = await place.run(["journal", "prune"], env);
  t.is(prune.code, 2);
  t.regex(prune.stderr, new RegExp(`belongs to process ${sidecar.ready.pid}\\b`, "u"));
  await sidecar.stop();
  const pruned = await place.run(["journal", "prune", "--journal", journal]);
  t.like(read(pruned), { records: 0, runs: 0 });
});

const refused = anyTest.macro({
  async exec(t, args: readonly string[], expected: RegExp) {
    const { code, stdout, stderr } = await place.run(args);
    t.is(code, 2, stderr);
    t.is(stdout, "");
    t.regex(stderr, expected);
  },
  title: (given) => `${given} is told in a sentence, with code 2`,
});

test("no journal named", refused, ["journal", "ls"], /not said which journal: --journal FILE/u);
test(
  "a journal in memory",
  refused,
  ["journal", "ls", "--journal", "memory"],
  /"memory" can't be looked into/u,
);
for (const command of [["ls"], ["show", "r", "c"], ["prune"]]) {
  test(
    `${command[0]} of an absent journal`,
    refused,
    ["journal", ...command, "--journal", path("absent.db")],
    /there is no journal at .*absent\.db/u,
  );
}
test(
  "a journal that is something else",
  refused,
  ["journal", "ls", "--journal", tools],
  /tools\.ts is damaged|no journal of this program/u,
);
test(
  "serving with a journal in a folder that is not there",
  refused,
  ["serve", tools, "--journal", path("nowhere/calls.db")],
  /directory .*nowhere does not exist/u,
);
test(
  "too short a retention",
  refused,
  ["serve", tools, "--journal-retention-ms", "5"],
  /--journal-retention-ms is "5": expected a whole number from 1000/u,
);
