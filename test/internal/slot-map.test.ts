import test from "ava";
import fc from "fast-check";
import { SlotMap } from "../../src/internal/slot-map.ts";

interface Value {
  readonly n: number;
}

type Command = readonly ["set" | "delete" | "fill" | "clear" | "sweep", number];

const commands: fc.Arbitrary<Command> = fc.tuple(
  fc.constantFrom("set", "set", "set", "delete", "delete", "fill", "clear", "sweep"),
  fc.nat(30),
);

test("it is a Map, whatever comes and goes", (t) => {
  fc.assert(
    fc.property(fc.array(commands, { maxLength: 200 }), (all) => {
      const real = new SlotMap<number, Value>();
      const model = new Map<number, Value>();
      for (const [i, [what, key]] of all.entries()) {
        const value = { n: i };
        if (what === "set") t.is(real.set(key, value), real);
        if (what === "set") model.set(key, value);
        if (what === "delete") t.is(real.delete(key), model.delete(key));
        // More than are kept for later, so that emptying it takes the other way.
        if (what === "fill") for (let n = 100; n < 1300; n += 1) real.set(n, value);
        if (what === "fill") for (let n = 100; n < 1300; n += 1) model.set(n, value);
        if (what === "clear") real.clear();
        if (what === "clear") model.clear();
        // Entries may go while they are looked through.
        if (what === "sweep") for (const [one] of real) real.delete(one);
        if (what === "sweep") model.clear();
        t.is(real.get(key), model.get(key));
        t.is(real.has(key), model.has(key));
        t.is(real.size, model.size);
      }
      t.deepEqual([...real], [...model]);
      t.deepEqual([...real.values()], [...model.values()]);
      const seen: [number, Value][] = [];
      real.forEach((value, key) => seen.push([key, value]));
      t.deepEqual(seen, [...model]);
    }),
  );
});
