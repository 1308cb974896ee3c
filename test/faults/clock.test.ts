import { setTimeout as wait } from "node:timers/promises";

import test from "ava";

import { Ledger } from "./ledger.ts";
import { ask, askAll } from "./load.ts";
import { faultyTools } from "./tools-text.ts";
import { live, makeWorld } from "./world.ts";

const year = 31_557_600_000;

/** Node flags that set a process's wall clock off by some years; its threads take them too. */
function shifted(years: number): Record<string, string> {
  const shift = `const now = Date.now; Date.now = () => now() + ${years * year};`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(shift)}` };
}

test("a wall clock that jumps between two lives expires nothing and starts nothing again", async (t) => {
  const world = makeWorld(t);
  const ledger = new Ledger();
  for (const years of [0, 500, -40, 0]) {
    const life = await live(world, { env: shifted(years) });
    await askAll(life.client, ledger, ledger.acknowledged);
    for (let call = 0; call < 5; call++) {
      await ask(life.client, ledger, ledger.make("pay", {}), {}, []);
    }
    // Neither deadlines nor time limits go by the wall clock.
    await ask(life.client, ledger, ledger.make("commit", { ms: 20 }), { deadlineMs: 30_000 }, []);
    await life.end(years === 0 ? "SIGTERM" : "SIGKILL");
  }
  t.is(ledger.audit(world.starts).twice, 0);
  t.deepEqual(ledger.broken, []);
});

const jumpingTools = faultyTools.replace(
  "export default defineTools({ tools: [",
  `const jump = defineTool({
  name: "jump",
  description: "Sets the wall clock off.",
  parameters: { type: "object", properties: { ms: { type: "number" } } },
  execute(args, ctx) {
    const now = Date.now;
    Date.now = () => now() + args.ms;
    return begin(ctx);
  },
});
export default defineTools({ tools: [jump, `,
);

test("a wall clock that jumps under a running sidecar expires nothing and ends no call", async (t) => {
  const world = makeWorld(t, jumpingTools);
  const ledger = new Ledger();
  // A retention that is long for this test has the sidecar look for what to prune every second.
  const life = await live(world, { args: ["--journal-retention-ms", "120000"] });
  await ask(life.client, ledger, ledger.make("pay", {}), {}, []);
  for (const years of [100, -200]) {
    const slow = ledger.make("commit", { ms: 2500 });
    const asking = ask(life.client, ledger, slow, { deadlineMs: 60_000 }, []);
    await ask(life.client, ledger, ledger.make("jump", { ms: years * year }), {}, []);
    await asking;
    await wait(100);
    await askAll(life.client, ledger, ledger.acknowledged);
  }
  t.is(await life.end(), 0);
  t.is(ledger.audit(world.starts).twice, 0);
  t.deepEqual(ledger.broken, []);
});
