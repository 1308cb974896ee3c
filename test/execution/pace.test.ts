import test from "ava";

import { Pace } from "../../src/execution/pace.ts";

/** Writes without end, as a body does, until it is told to stop; returns how often it could. */
async function write(pace: Pace, until: AbortSignal): Promise<number> {
  let written = 0;
  while (!until.aborted) {
    written += 1;
    await pace.next();
  }
  return written;
}

test("a thousand bodies that only write leave timers their turns, and all get on", async (t) => {
  const pace = new Pace();
  const over = new AbortController();
  const bodies = Array.from({ length: 1000 }, () => write(pace, over.signal));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
  over.abort();
  const written = await Promise.all(bodies);
  t.true(Math.min(...written) > 1);
  t.true(Math.max(...written) < 1000 * 20);
});

test("a few events in a turn wait for nothing", async (t) => {
  const pace = new Pace();
  for (let turn = 0; turn < 3; turn++) {
    for (let event = 0; event < 50; event++) t.is(pace.next(), undefined);
    await new Promise((resolve) => setImmediate(resolve));
  }
});
