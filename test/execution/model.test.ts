import test from "ava";
import fc from "fast-check";
import { type Asking, type Key, type ToolName, tools, World } from "./model-world.ts";

// Kernels of two principals ask, leave and ask again; bodies end as they like, or run out of time;
// the disk fails now and then; the process shuts down or crashes, and starts again. The model knows
// only what the contract promises of each key.

type Step =
  | { readonly do: "ask"; readonly nth: number; readonly how: Omit<Asking, "key"> }
  | {
      readonly do: "leave";
      readonly nth: number;
      readonly cause: "cancelled" | "deadline" | "disconnected";
    }
  | { readonly do: "end"; readonly nth: number; readonly how: "result" | "throw" | "abort" }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "trouble"; readonly troubles: readonly boolean[] }
  | { readonly do: "drain"; readonly graceMs: number }
  | { readonly do: "crash" };

const toolNames = Object.keys(tools) as ToolName[];

/** A few keys, so that most steps of a run meet each other: of one tool or of any. */
const keys: fc.Arbitrary<readonly Key[]> = fc
  .oneof(
    fc.constantFrom(...toolNames).map((tool) => fc.constant(tool)),
    fc.constant(fc.constantFrom(...toolNames)),
  )
  .chain((tool) =>
    fc.array(
      fc.record({
        principal: fc.constantFrom("", "", "", "other"),
        tool,
        n: fc.integer({ min: 1, max: 3 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  );

const how: fc.Arbitrary<Omit<Asking, "key">> = fc.record({
  onDisconnect: fc.constantFrom("abort" as const, "continue" as const),
  timeoutMs: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined, freq: 3 }),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined, freq: 3 }),
});

const step: fc.Arbitrary<{ readonly step: Step; readonly settles: boolean }> = fc.record({
  step: fc.oneof(
    { weight: 10, arbitrary: fc.record({ do: fc.constant("ask" as const), nth: fc.nat(3), how }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("leave" as const),
        nth: fc.nat(5),
        cause: fc.constantFrom("cancelled" as const, "deadline" as const, "disconnected" as const),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("end" as const),
        nth: fc.nat(5),
        how: fc.constantFrom("result" as const, "throw" as const, "abort" as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 5, 60) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("trouble" as const),
        troubles: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("drain" as const),
        graceMs: fc.constantFrom(0, 3, 300),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
  ),
  settles: fc.boolean(),
});

async function take(world: World, pool: readonly Key[], next: Step): Promise<void> {
  switch (next.do) {
    case "ask":
      return world.ask({ key: pool[next.nth % pool.length] as Key, ...next.how });
    case "leave":
      return world.asked[next.nth % Math.max(world.asked.length, 1)]?.leave(next.cause);
    case "end":
      return world.bodies[next.nth % Math.max(world.bodies.length, 1)]?.end(next.how);
    case "wait":
      return world.clock.advance(next.ms);
    case "trouble":
      return world.trouble(next.troubles);
    case "drain":
      return world.drain(next.graceMs);
    case "crash":
      return world.crash();
  }
}

test("whatever is asked, left, ended, drained and crashed: one start, one end, one outcome a key", async (t) => {
  const seed = process.env["MODEL_SEED"];
  await fc.assert(
    fc.asyncProperty(keys, fc.array(step, { maxLength: 30, size: "max" }), async (pool, steps) => {
      const world = new World();
      try {
        for (const { step: next, settles } of steps) {
          await take(world, pool, next);
          if (settles) await world.settle();
        }
      } finally {
        await world.finish();
      }
      return world.faults.length === 0 || Promise.reject(new Error(world.faults.join("; ")));
    }),
    {
      numRuns: Number(process.env["MODEL_RUNS"] ?? 1000),
      ...(seed !== undefined && { seed: Number(seed) }),
    },
  );
  t.pass();
});
