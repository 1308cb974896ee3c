import { ConfigurationError } from "../errors.ts";
import { type Environment, type Flags, integer, readStated, type Setting } from "./settings.ts";

/** The limits of one process. */
export interface Limits {
  /** The largest message in bytes, either way, before compression. */
  readonly maxMessageBytes: number;
  /** How many calls run at once; more wait. */
  readonly maxCallsInFlight: number;
  /** How many calls may wait; more are the fault `OVERLOADED`. */
  readonly maxCallsQueued: number;
  /** How many worker threads isolated tools run in, and so how many isolated calls run at once. */
  readonly maxWorkers: number;
  /** How long calls in flight may go on while the process shuts down, in milliseconds. */
  readonly drainGraceMs: number;
  /** How long a call outlives a lost connection where its caller asked for it, in milliseconds. */
  readonly continueGraceMs: number;
  /** How long `toolport serve` keeps a run's records after their last use, in milliseconds. */
  readonly journalRetentionMs: number;
  /**
   * How much the records of `toolport serve` may take, in bytes; 0 is 256 MiB for a journal in
   * memory and no bound for one in a file.
   */
  readonly journalMaxBytes: number;
}

const day = 24 * 60 * 60_000;
const mib = 2 ** 20;

/** Each limit with its flag, its variable and its default. */
export const limitSettings: { readonly [Key in keyof Limits]: Setting<number> } = Object.freeze({
  maxMessageBytes: integer(
    "--max-message-bytes <bytes>",
    "TOOLPORT_MAX_MESSAGE_BYTES",
    64 * mib,
    [64 * 1024, 1024 * mib],
    "the largest message either way, before compression",
  ),
  maxCallsInFlight: integer(
    "--max-calls-in-flight <calls>",
    "TOOLPORT_MAX_CALLS_IN_FLIGHT",
    16_384,
    [1, 1_000_000],
    "how many calls run at once; more wait",
  ),
  maxCallsQueued: integer(
    "--max-calls-queued <calls>",
    "TOOLPORT_MAX_CALLS_QUEUED",
    16_384,
    [0, 1_000_000],
    "how many calls may wait; more are refused as OVERLOADED",
  ),
  maxWorkers: integer(
    "--max-workers <threads>",
    "TOOLPORT_MAX_WORKERS",
    4,
    [1, 1024],
    "how many worker threads isolated tools run in, one call each at a time",
  ),
  drainGraceMs: integer(
    "--drain-grace-ms <ms>",
    "TOOLPORT_DRAIN_GRACE_MS",
    10_000,
    [0, day],
    "how long calls in flight may go on after SIGTERM or SIGINT",
  ),
  continueGraceMs: integer(
    "--continue-grace-ms <ms>",
    "TOOLPORT_CONTINUE_GRACE_MS",
    60_000,
    [0, day],
    "how long a call outlives a lost connection where its caller asked for that",
  ),
  journalRetentionMs: integer(
    "--journal-retention-ms <ms>",
    "TOOLPORT_JOURNAL_RETENTION_MS",
    day,
    [1000, 3660 * day],
    "how long the records of a run are kept after their last use",
  ),
  journalMaxBytes: Object.freeze({
    ...integer(
      "--journal-max-bytes <bytes>",
      "TOOLPORT_JOURNAL_MAX_BYTES",
      0,
      [0, Number.MAX_SAFE_INTEGER],
      "how much its records may take",
    ),
    fallbackText: "0: 256 MiB in memory, no bound in a file",
  }),
});

const keys = Object.keys(limitSettings) as (keyof Limits)[];

/**
 * Checks the limits that a tools file states.
 *
 * @throws ConfigurationError that names the limit
 */
export function checkLimits(stated: unknown): Partial<Limits> {
  if (stated === undefined) return {};
  if (typeof stated !== "object" || stated === null || Array.isArray(stated)) {
    throw new ConfigurationError(`limits is ${describe(stated)}: expected an object`);
  }
  for (const [key, value] of Object.entries(stated)) {
    if (!keys.includes(key as keyof Limits)) {
      throw new ConfigurationError(`limits has no ${key}: expected any of ${keys.join(", ")}`);
    }
    const setting = limitSettings[key as keyof Limits];
    if (value !== undefined && setting.parse(String(value)) !== value) {
      throw new ConfigurationError(
        `limits.${key} is ${describe(value)}: expected ${setting.expected}`,
      );
    }
  }
  return stated;
}

/** The limits that hold: flags win over the environment, that over the tools file. Frozen. */
export function resolveLimits(
  stated: Partial<Limits>,
  flags: Flags = {},
  env: Environment = {},
): Limits {
  const entries = keys.map((key) => {
    const setting = limitSettings[key];
    return [key, readStated(setting, flags, env) ?? stated[key] ?? setting.fallback] as const;
  });
  return Object.freeze(Object.fromEntries(entries) as unknown as Limits);
}

function describe(value: unknown): string {
  return typeof value === "number" || value === null ? String(value) : typeof value;
}
