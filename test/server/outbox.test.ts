import test from "ava";
import fc from "fast-check";
import { Outbox } from "../../src/server/outbox.ts";

test("values come out in their order, whatever the turns of reading and writing", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean()),
      fc.integer({ min: 1, max: 8 }),
      async (turns, capacity) => {
        let rooms = 0;
        let refusals = 0;
        const outbox = new Outbox<number>(
          { room: () => (rooms += 1), left: () => t.fail() },
          capacity,
        );
        const reads: Promise<IteratorResult<number, undefined>>[] = [];
        let written = 0;
        let isRefused = false;
        for (const isWrite of turns) {
          if (!isWrite) {
            reads.push(outbox.next());
            if (rooms === refusals) isRefused = false;
          } else if (!isRefused) {
            isRefused = !outbox.push(written, 1);
            if (isRefused) refusals += 1;
            written += 1;
          }
        }
        outbox.end();
        for (let read = reads.length; read <= written; read += 1) reads.push(outbox.next());
        const results = await Promise.all(reads);
        t.deepEqual(
          results.slice(0, written).map(({ value }) => value),
          Array.from({ length: written }, (_, index) => index),
        );
        t.true(results.slice(written).every(({ done }) => done));
        t.is(rooms, refusals);
      },
    ),
  );
});

test("a reader that leaves is told nothing more, and the producer is told once", async (t) => {
  let left = 0;
  const outbox = new Outbox<number>({ room: () => t.fail(), left: () => (left += 1) });
  outbox.push(1, 1);
  for await (const value of outbox) {
    t.is(value, 1);
    break;
  }
  t.true(outbox.push(2, 1));
  outbox.end({ reason: new Error("late") });
  t.deepEqual(await outbox.next(), { done: true, value: undefined });
  await outbox.return();
  t.is(left, 1);
});

test("an end with a reason fails the reader once, after what came before", async (t) => {
  const outbox = new Outbox<number>({ room() {}, left() {} });
  outbox.push(1, 1);
  outbox.end({ reason: new Error("why") });
  t.is((await outbox.next()).value, 1);
  await t.throwsAsync(outbox.next(), { message: "why" });
  t.true((await outbox.next()).done);
});
