import test from "ava";
import fc from "fast-check";
import { type Slot, Slots } from "../../src/execution/slots.ts";
import { ask, executorOf, gate, requestOf } from "../execution/world.ts";

test("sixteen thousand calls that wait for one slot all run, in order, though none of them waits itself", async (t) => {
  const hold = gate();
  const order: number[] = [];
  const executor = executorOf(
    {
      hold: { execute: () => hold.promise },
      t: {
        execute: (args) => {
          order.push((args as { n: number }).n);
          return "ok";
        },
      },
    },
    { slots: { inFlight: 1, queued: 16_384 } },
  );
  const holder = ask(executor, requestOf("hold"));
  const calls = Array.from({ length: 16_384 }, (_, n) =>
    ask(executor, requestOf("t", { argumentsJson: `{"n":${n}}` })),
  );
  t.is((await ask(executor, requestOf("t")).fault()).code, "OVERLOADED");
  hold.open();
  await holder.outcome();
  const ends = await Promise.all(calls.map((call) => call.outcome()));
  t.true(ends.every(({ ok }) => ok));
  t.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  t.deepEqual([executor.inFlight, executor.queued], [0, 0]);
});

test("a busy tool does not starve another that waits for the same slots", async (t) => {
  const hold = gate();
  const order: string[] = [];
  const note = (name: string) => ({
    execute: async () => {
      order.push(name);
      await new Promise((resolve) => setImmediate(resolve));
    },
  });
  const executor = executorOf(
    { hold: { execute: () => hold.promise }, busy: note("busy"), rare: note("rare") },
    { slots: { inFlight: 1, queued: 1000 } },
  );
  ask(executor, requestOf("hold"));
  const busy = Array.from({ length: 200 }, () => ask(executor, requestOf("busy")));
  const rare = Array.from({ length: 5 }, () => ask(executor, requestOf("rare")));
  hold.open();
  await Promise.all(rare.map((call) => call.outcome()));
  t.true(order.lastIndexOf("rare") <= 12);
  await Promise.all(busy.map((call) => call.outcome()));
});

type Act =
  | { readonly do: "acquire"; readonly tool: number }
  | { readonly do: "release"; readonly nth: number };

test("whatever is acquired and given back, in grants too: bounds hold, order holds, nothing leaks or waits in vain", (t) => {
  const limits = [1, 2, null] as const;
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.record({ do: fc.constant("acquire" as const), tool: fc.nat(2), isSync: fc.boolean() }),
          fc.record({
            do: fc.constant("release" as const),
            nth: fc.nat(20),
            isSync: fc.constant(false),
          }),
        ) as fc.Arbitrary<Act & { readonly isSync: boolean }>,
        { maxLength: 60 },
      ),
      (acts) => {
        const slots = new Slots({ inFlight: 3, queued: 10 });
        const live: { slot: Slot; tool: number; n: number; isHeld: boolean }[] = [];
        const granted: number[][] = [[], [], []];
        let made = 0;
        const give = (entry: (typeof live)[number]): void => {
          live.splice(live.indexOf(entry), 1);
          entry.isHeld = false;
          entry.slot.release();
          entry.slot.release();
        };
        const check = (): void => {
          const held = live.filter(({ isHeld }) => isHeld);
          if (held.length > 3 || held.length !== slots.held)
            throw new Error("too many, or miscounted");
          for (const [tool, limit] of limits.entries()) {
            const own = held.filter((entry) => entry.tool === tool).length;
            if (own > (limit ?? 3)) throw new Error("too many of one tool");
            const waits = live.some((entry) => entry.tool === tool && !entry.isHeld);
            if (waits && own < (limit ?? 3) && held.length < 3) throw new Error("waits in vain");
          }
        };
        for (const act of acts) {
          if (act.do === "release") {
            const entry = live[act.nth % Math.max(live.length, 1)];
            if (entry) give(entry);
          } else {
            const { tool, isSync } = act;
            const entry: (typeof live)[number] = {
              slot: { isHeld: false, onGrant() {}, release() {} },
              tool,
              n: (made += 1),
              isHeld: false,
            };
            const grant = (): void => {
              entry.isHeld = true;
              granted[tool]?.push(entry.n);
              if (isSync) give(entry);
            };
            try {
              live.push(entry);
              entry.slot = slots.acquire(`t${tool}`, limits[tool] ?? null);
              if (entry.slot.isHeld) grant();
              else entry.slot.onGrant(grant);
            } catch {
              live.splice(live.indexOf(entry), 1);
              if (slots.queued < 10) throw new Error("refused though there was room to wait");
            }
          }
          check();
        }
        while (live.length > 0) give(live[0] as (typeof live)[number]);
        for (const order of granted) {
          if (order.some((n, at) => at > 0 && n < (order[at - 1] ?? 0)))
            throw new Error("out of order");
        }
        return slots.held === 0 && slots.queued === 0;
      },
    ),
    { numRuns: 2000 },
  );
  t.pass();
});
