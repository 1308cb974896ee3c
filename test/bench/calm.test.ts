import test from "ava";

import { calmest } from "../../bench/compare/calm.ts";
import type { Figures } from "../../bench/compare/figures.ts";

function measurements(...others: readonly number[]): {
  next: () => Promise<Figures>;
  made(): number;
} {
  let made = 0;
  const next = (): Promise<Figures> => {
    const at = made++;
    const share = others[at] ?? 0;
    return Promise.resolve({
      callsPerSecond: at,
      p50Us: 1,
      p99Us: 1,
      serverCpuUs: 1,
      others: share,
    });
  };
  return { next, made: () => made };
}

test("what nobody disturbs is measured once", async (t) => {
  const { next, made } = measurements(0.01, 0);
  t.is((await calmest(next, 4)).callsPerSecond, 0);
  t.is(made(), 1);
});

test("what is disturbed is measured again until it is calm", async (t) => {
  const { next, made } = measurements(1.5, 0.2, 0.02, 0);
  t.is((await calmest(next, 4)).callsPerSecond, 2);
  t.is(made(), 3);
});

test("the calmest counts where none is calm, and it gives up", async (t) => {
  const { next, made } = measurements(0.9, 0.3, 0.6, 0.5, 0);
  t.is((await calmest(next, 4)).callsPerSecond, 1);
  t.is(made(), 4);
});
