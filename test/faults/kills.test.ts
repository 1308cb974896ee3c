import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";

import test from "ava";

import { Ledger } from "./ledger.ts";
import { askAll, keepBusy } from "./load.ts";
import { Random } from "./random.ts";
import { live, makeWorld } from "./world.ts";

/** How often the sidecar is killed: a few times in every test run, 200 times in the full suite. */
const kills = Number(process.env["TOOLPORT_FAULTS_KILLS"] ?? 8);
const seed = Number(process.env["TOOLPORT_FAULTS_SEED"] ?? 0) || undefined;

test(`killed ${kills} times under load, a sidecar loses no outcome that it acknowledged and starts nothing twice`, async (t) => {
  t.timeout(60_000 + kills * 5000);
  const random = new Random(seed);
  t.log(`seed ${random.seed} (TOOLPORT_FAULTS_SEED)`);
  const world = makeWorld(t);
  const ledger = new Ledger();
  const began = performance.now();

  for (let kill = 0; kill < kills; kill++) {
    if (random.chance(0.1)) {
      // While it starts: it opens its journal, or listens already.
      const starting = world.place.start(["serve", ...world.args], world.env);
      await wait(random.between(50, 500));
      starting.kill("SIGKILL");
      if (starting.exitCode === null && starting.signalCode === null) await once(starting, "exit");
      continue;
    }
    const life = await live(world);
    const stop = new AbortController();
    const load = keepBusy(life.client, ledger, random, stop.signal);
    await wait(random.chance(0.2) ? random.between(400, 2000) : random.between(5, 400));
    if (random.chance(0.1)) {
      // While it drains.
      life.sidecar.child.kill("SIGTERM");
      await wait(random.between(0, 20));
    }
    const killed = life.sidecar.stop("SIGKILL");
    stop.abort();
    await Promise.all([killed, load]);
    await life.end();
  }

  const life = await live(world);
  const { open, acknowledged } = ledger;
  await askAll(life.client, ledger, open);
  await askAll(life.client, ledger, acknowledged);
  t.is(await life.end(), 0);

  const { starts, twice } = ledger.audit(world.starts);
  const seconds = Math.round((performance.now() - began) / 1000);
  t.log(`${ledger.asked.length} calls, ${starts} starts, ${kills} kills in ${seconds} s`);
  t.log(`${acknowledged.length} acknowledged before the last start, ${open.length} open then`);
  t.log(ledger.summary);
  t.log(`non-idempotent tools started twice: ${twice}; promises broken: ${ledger.broken.length}`);
  t.deepEqual(ledger.broken.slice(0, 20), []);
  t.true(acknowledged.every((one) => one.isConfirmed));
  t.true(ledger.asked.length > kills * 5);
});
