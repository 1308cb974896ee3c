import type { ExecutionContext } from "ava";
import type { Parameters } from "fast-check";

/**
 * Settings for a property, with a seed that is told: in the log of the test, and by
 * `TOOLPORT_SEED=… ` taken again.
 */
export function seeded<T>(t: ExecutionContext, settings: Parameters<T> = {}): Parameters<T> {
  const seed = Number(process.env["TOOLPORT_SEED"] ?? Math.floor(Math.random() * 0x7fff_ffff));
  t.log(`seed ${seed}`);
  return { ...settings, seed };
}
