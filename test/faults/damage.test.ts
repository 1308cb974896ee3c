import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import test, { type ExecutionContext } from "ava";

import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, success } from "../journal/calls.ts";
import { copyAsCrashed } from "../journal/files.ts";
import { Ledger } from "./ledger.ts";
import { ask, askAll } from "./load.ts";
import { Random } from "./random.ts";
import { live, makeWorld, type World } from "./world.ts";

/** A world in which a sidecar was killed after some calls had been acknowledged. */
async function killedAfterCalls(t: ExecutionContext): Promise<{ world: World; ledger: Ledger }> {
  const world = makeWorld(t);
  const ledger = new Ledger();
  const life = await live(world);
  const calls = Array.from({ length: 40 }, (_, at) =>
    ledger.make(at % 2 ? "pay" : "put", { ms: 1 }),
  );
  await askAll(life.client, ledger, calls, 4);
  await life.end("SIGKILL");
  t.deepEqual(ledger.broken, []);
  return { world, ledger };
}

test("a torn end of the log, of a commit that nobody was told of, costs nothing that was acknowledged", async (t) => {
  const { world, ledger } = await killedAfterCalls(t);
  const random = new Random();
  t.log(`seed ${random.seed}`);
  const path = (name: string): string => join(world.place.path, name);
  // An end that was written and never told, as a crash at this moment leaves it.
  const torn = { ...ledger.make("pay", {}), principal: "" };
  const journal = await sqliteJournal({ path: world.journal });
  await journal.claim({ ...claimOf(torn), toolName: "pay" });
  copyAsCrashed(world.journal, path("before.db"));
  const outcome = success("x".repeat(20_000));
  await journal.end(torn, 1, { kind: "outcome", outcome });
  copyAsCrashed(world.journal, path("after.db"));
  await journal.close();
  ledger.asked.pop();

  const from = readFileSync(path("before.db-wal")).length;
  const log = readFileSync(path("after.db-wal"));
  t.true(log.length > from + 4120);
  for (const how of ["truncated", "garbled", "zeroed"]) {
    const at = random.between(from, log.length - 1);
    const copy = Buffer.from(log);
    if (how === "garbled") copy.writeUInt8(copy.readUInt8(at) ^ 0x5a, at);
    if (how === "zeroed") copy.fill(0, at);
    copyFileSync(path("after.db"), world.journal);
    writeFileSync(`${world.journal}-wal`, copy);
    if (how === "truncated") truncateSync(`${world.journal}-wal`, at);
    const life = await live(world);
    await askAll(life.client, ledger, ledger.acknowledged);
    await life.end("SIGKILL");
    t.deepEqual(ledger.broken, [], `${how} at ${at}`);
  }
  t.is(ledger.audit(world.starts).twice, 0);
});

test("a damaged record of an acknowledged outcome is reported in so many words, and never run again", async (t) => {
  const { world, ledger } = await killedAfterCalls(t);
  const [victim, ...others] = ledger.asked.filter(({ name }) => name === "pay");
  if (!victim) return t.fail();
  const db = new DatabaseSync(world.journal);
  db.prepare("UPDATE calls SET outcome = replace(outcome, 'run', 'RUN') WHERE call_id = ?").run(
    victim.callId,
  );
  db.close();
  const life = await live(world);
  const { runId, callId } = victim;
  t.true(
    life.sidecar
      .output()
      .stderr.replaceAll("\\", "")
      .includes(`the record of call "${callId}" in run "${runId}" is damaged`),
    life.sidecar.output().stderr,
  );
  for (let times = 0; times < 2; times++) {
    const asking = life.client.execute({ ...victim }).result;
    const fault = await t.throwsAsync(asking);
    t.like(fault, { code: "JOURNAL_UNAVAILABLE", started: "no" });
    t.regex(fault.message, /record of call .* is damaged on the disk; restore the journal/u);
  }
  await askAll(life.client, ledger, others);
  await ask(life.client, ledger, ledger.make("pay", {}), {}, []);
  const listed = await world.place.run([
    "journal",
    "ls",
    "--call",
    callId,
    "--journal",
    world.journal,
  ]);
  t.regex(listed.stdout, /"state":"damaged"/u);
  t.is(await life.end(), 0);
  ledger.audit(world.starts);
  t.deepEqual(ledger.broken, []);
});

test("a log that is damaged where commits follow keeps the sidecar from starting, and says why", async (t) => {
  const { world } = await killedAfterCalls(t);
  const wal = readFileSync(`${world.journal}-wal`);
  const at = Math.floor(wal.length / 3);
  wal.writeUInt8(wal.readUInt8(at) ^ 1, at);
  writeFileSync(`${world.journal}-wal`, wal);
  const { code, stdout, stderr } = await world.place.run(["serve", ...world.args], {
    ...world.env,
  });
  t.is(code, 2);
  t.is(stdout, "");
  t.regex(
    stderr,
    /toolport: the journal .* is damaged: frame \d+ .*outcomes that were acknowledged/u,
  );
});
