import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import { Patience } from "../../../src/server/bare/patience.ts";

const waitMs = 40;

test("who has waited for long enough is told once, in the order of coming", async (t) => {
  const patience = new Patience(waitMs);
  t.teardown(() => patience.close());
  const told: string[] = [];
  const wait = (name: string) => patience.wait({ tooLate: () => void told.push(name) });
  wait("first");
  patience.stop(wait("answered"));
  await sleep(waitMs / 2);
  wait("second");
  while (told.length < 2) await sleep(5);
  await sleep(2 * waitMs);
  t.deepEqual(told, ["first", "second"]);
});

test("nobody is told too soon", async (t) => {
  const patience = new Patience(waitMs);
  t.teardown(() => patience.close());
  const waited = await new Promise<number[]>((resolve) => {
    const all: number[] = [];
    for (const pause of [0, 7, 19, 33]) {
      setTimeout(() => {
        const from = performance.now();
        const tooLate = () => void (all.push(performance.now() - from) === 4 && resolve(all));
        patience.wait({ tooLate });
      }, pause);
    }
  });
  for (const ms of waited) t.true(ms >= waitMs - 1, `${ms} ms`);
});

test("a wait that is over may be stopped, and one that ended another in its sweep", async (t) => {
  const patience = new Patience(waitMs);
  t.teardown(() => patience.close());
  const told: number[] = [];
  let second = 0;
  const first = patience.wait({
    tooLate: () => {
      told.push(1);
      patience.stop(second);
    },
  });
  second = patience.wait({ tooLate: () => void told.push(2) });
  await sleep(4 * waitMs);
  patience.stop(first);
  t.deepEqual(told, [1]);
});

test("nothing is told after it was closed", async (t) => {
  const patience = new Patience(waitMs);
  patience.wait({ tooLate: () => t.fail() });
  patience.close();
  await sleep(2 * waitMs);
  t.pass();
});
