import test from "ava";
import fc from "fast-check";

import { createExecutor } from "../../src/execution/executor.ts";
import { Flow } from "../../src/isolation/flow.ts";
import { ask, requestOf } from "../execution/world.ts";
import { lastingWorld, registry } from "./world.ts";

const { executor, isolation } = lastingWorld({ maxWorkers: 1 });
test.after.always(async () => isolation.close());

test("any arguments reach a thread, and any result leaves it, as in the process", async (t) => {
  const here = createExecutor({ registry });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (args) => {
      const request = requestOf("echo", { argumentsJson: JSON.stringify(args) });
      const there = await ask(executor, request).outcome();
      const expected = await ask(here, request).outcome();
      t.deepEqual({ ...there, durationMs: 0 }, { ...expected, durationMs: 0 });
    }),
  );
});

test("a call that is offered to a thread is claimed or revoked, never both", (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("claim", "revoke"), { minLength: 1 }), (steps) => {
      const process = new Flow();
      const thread = new Flow(process.buffer);
      for (const seq of [1, 2, 3]) {
        process.offer(seq);
        const taken = steps.filter((step) =>
          step === "claim" ? thread.claim(seq) : process.revoke(seq),
        );
        t.deepEqual(taken, steps.slice(0, 1));
        t.false(thread.claim(seq));
        t.false(process.revoke(seq));
      }
    }),
  );
});
