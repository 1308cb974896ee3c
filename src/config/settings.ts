import { ConfigurationError } from "../errors.ts";

/** One thing that can be set by a flag, by the environment, or left at its default. */
export interface Setting<T> {
  /** As commander takes it, such as `--drain-grace-ms <ms>`. */
  readonly flag: string;
  /** The environment variable, such as `TOOLPORT_DRAIN_GRACE_MS`. */
  readonly env: string;
  /** For `--help`; the variable and the default are added to it. */
  readonly help: string;
  readonly fallback: T;
  /** What to say of the default; left out where the fallback says it itself. */
  readonly fallbackText?: string;
  /** Reads the text of the flag or the variable; returns undefined where it is not of the form. */
  parse(text: string): T | undefined;
  /** What text is of the form, for the error: `expected …`. */
  readonly expected: string;
}

/** Flags as commander hands them over: by camel-case name. */
export type Flags = Readonly<Record<string, unknown>>;
/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A whole number between two bounds, both allowed. */
export function integer(
  flag: string,
  env: string,
  fallback: number,
  bounds: readonly [number, number],
  help: string,
): Setting<number> {
  const [least, most] = bounds;
  return {
    flag,
    env,
    help,
    fallback,
    expected: `a whole number from ${least} to ${most}`,
    parse(digits) {
      const value = /^\d+$/u.test(digits) ? Number(digits) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

/** Text of any form, but not none. */
export function text(
  flag: string,
  env: string,
  help: string,
  fallbackText?: string,
): Setting<string | undefined> {
  return {
    flag,
    env,
    help,
    fallback: undefined,
    ...(fallbackText === undefined ? {} : { fallbackText }),
    expected: "some text",
    parse: (value) => (value === "" ? undefined : value),
  };
}

/** On or off: a flag without a value; `1` and `true` or `0` and `false` in the environment. */
export function toggle(flag: string, env: string, help: string): Setting<boolean> {
  return {
    flag,
    env,
    help,
    fallback: false,
    expected: "1, true, 0 or false",
    parse(value) {
      if (value === "1" || value === "true") return true;
      return value === "0" || value === "false" || value === "" ? false : undefined;
    },
  };
}

/** One of a few words. */
export function choice<T extends string>(
  flag: string,
  env: string,
  words: readonly T[],
  fallback: T,
  help: string,
): Setting<T> {
  return {
    flag,
    env,
    help: `${help}: ${words.join(", ")}`,
    fallback,
    expected: words.join(" or "),
    parse: (value) => words.find((word) => word === value),
  };
}

/**
 * Reads one setting: the flag wins over the environment, which wins over the default.
 *
 * @throws ConfigurationError that names the flag or the variable, its text and what was expected
 */
export function readSetting<T>(setting: Setting<T>, flags: Flags, env: Environment): T {
  return readStated(setting, flags, env) ?? setting.fallback;
}

/** As {@link readSetting}, but undefined where neither flag nor environment states it. */
export function readStated<T>(setting: Setting<T>, flags: Flags, env: Environment): T | undefined {
  const flag = flags[flagName(setting.flag)];
  if (typeof flag === "string" || typeof flag === "boolean") {
    return parse(setting, longFlag(setting.flag), String(flag));
  }
  const variable = env[setting.env];
  // An empty variable is how many shells and unit files unset one.
  if (variable !== undefined && variable !== "") return parse(setting, setting.env, variable);
  return undefined;
}

/** The text for `--help`. */
export function helpText(setting: Setting<string | number | boolean | undefined>): string {
  const fallback = setting.fallbackText ?? (setting.fallback || undefined);
  const parts = [
    `env: ${setting.env}`,
    ...(fallback === undefined ? [] : [`default: ${fallback}`]),
  ];
  return `${setting.help} (${parts.join(", ")})`;
}

function parse<T>(setting: Setting<T>, source: string, value: string): T {
  const parsed = setting.parse(value);
  if (parsed !== undefined) return parsed;
  throw new ConfigurationError(
    `${source} is ${JSON.stringify(value)}: expected ${setting.expected}`,
  );
}

function longFlag(flag: string): string {
  return flag.split(" ")[0] ?? flag;
}

/** `--drain-grace-ms <ms>` is `drainGraceMs`. */
function flagName(flag: string): string {
  return longFlag(flag)
    .slice(2)
    .replace(/-(?<letter>.)/gu, (_match, letter: string) => letter.toUpperCase());
}
