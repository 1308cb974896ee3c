import type { JsonObject } from "../domain/json.ts";
import { ConfigurationError } from "../errors.ts";
import type { StandardSchema } from "./schema/standard-schema.ts";
import { show } from "./show.ts";

/** What an author can say of a tool beside its name, description, parameters and body. */
export interface ToolTraits {
  /** `hidden` leaves the tool out of the manifest unless asked for; default `visible`. */
  readonly visibility?: "visible" | "hidden" | undefined;
  /** Who the tool is for; default `public`. */
  readonly scope?: "public" | "internal" | "admin" | undefined;
  /** How an intent router treats the tool; default `observe`. */
  readonly routingMode?: "off" | "observe" | "enforce" | undefined;
  /** Whatever else; `visible_to_agents: false` (or `visibleToAgents`) hides the tool. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** A category such as `web`, `memory`, `data` or `custom`. */
  readonly category?: string | undefined;
  readonly safetyLevel?: "safe" | "restricted" | "dangerous" | undefined;
  /** What one call costs in US dollars. */
  readonly costUsd?: number | undefined;
  /** A capability of the kernel that the tool asks for. */
  readonly requires?: string | undefined;
  /** How many calls one run may make. */
  readonly maxCallsPerInvocation?: number | undefined;
  /** Time limit in milliseconds from the tool's start; progress starts it anew. */
  readonly timeoutMs?: number | undefined;
  /** Hard cap in milliseconds from the tool's start, whatever the progress. */
  readonly maxTimeoutMs?: number | undefined;
  /** How many calls of this tool may run at once; default: no limit of its own. */
  readonly concurrency?: number | undefined;
  /** `worker`: the body runs in a worker thread that can be terminated. */
  readonly isolate?: "worker" | undefined;
  /** `spill`: a result over the limit goes to a file; default `refuse`. */
  readonly largeResults?: "refuse" | "spill" | undefined;
  /** The body needs a live run: `ctx.run` is there, and it may call back into the kernel. */
  readonly runAware?: boolean | undefined;
  /** Safe to run again after an attempt whose outcome is not known; default false. */
  readonly idempotent?: boolean | undefined;
  /** Changes nothing. Leave it out where you don't know. */
  readonly readOnly?: boolean | undefined;
  /** May destroy or overwrite. Leave it out where you don't know. */
  readonly destructive?: boolean | undefined;
  /** Reaches the outside world. Leave it out where you don't know. */
  readonly openWorld?: boolean | undefined;
}

/** A schema for arguments or results: one of a schema library, or a JSON Schema object. */
export type ToolSchema = StandardSchema | Readonly<Record<string, unknown>>;

/** The type that a body is given for a schema: its output, or a plain record for JSON Schema. */
export type ArgumentsOf<P> =
  P extends StandardSchema<infer _Input, infer Output> ? Output : Readonly<Record<string, unknown>>;

/** What {@link readTraits} made: only what the author stated, frozen. */
export type StatedTraits = Readonly<ToolTraits>;

type Rule = { readonly expected: string; readonly holds: (value: unknown) => boolean };

const maxUint32 = 0xffff_ffff;

const oneOf = (...words: readonly string[]): Rule => ({
  expected: words.map((word) => JSON.stringify(word)).join(" or "),
  holds: (value) => typeof value === "string" && words.includes(value),
});
const text: Rule = {
  expected: "a string that is not empty",
  holds: (value) => typeof value === "string" && value !== "" && value.isWellFormed(),
};
const flag: Rule = { expected: "true or false", holds: (value) => typeof value === "boolean" };
const whole = (least: number, unit: string): Rule => ({
  expected: `a whole number of ${unit}, ${least} or more`,
  holds: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= maxUint32,
});

const rules: Readonly<Record<keyof ToolTraits, Rule>> = {
  visibility: oneOf("visible", "hidden"),
  scope: oneOf("public", "internal", "admin"),
  routingMode: oneOf("off", "observe", "enforce"),
  metadata: {
    expected: "an object",
    holds: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  },
  category: text,
  safetyLevel: oneOf("safe", "restricted", "dangerous"),
  costUsd: {
    expected: "a number of US dollars, 0 or more",
    holds: (value) => typeof value === "number" && Number.isFinite(value) && value >= 0,
  },
  requires: text,
  maxCallsPerInvocation: whole(0, "calls"),
  timeoutMs: whole(1, "milliseconds"),
  maxTimeoutMs: whole(1, "milliseconds"),
  concurrency: whole(1, "calls"),
  isolate: oneOf("worker"),
  largeResults: oneOf("refuse", "spill"),
  runAware: flag,
  idempotent: flag,
  readOnly: flag,
  destructive: flag,
  openWorld: flag,
};

/** The names of all traits. */
export const traitNames: readonly (keyof ToolTraits)[] = Object.keys(rules) as (keyof ToolTraits)[];

/**
 * Picks the stated traits out of an author's object and checks them.
 *
 * @param what whose they are, for the error text, such as `tool "add"`
 * @throws ConfigurationError that names the option, what it is and what was expected
 */
export function readTraits(what: string, given: Readonly<Record<string, unknown>>): StatedTraits {
  const stated: Record<string, unknown> = {};
  for (const name of traitNames) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    const rule = rules[name];
    if (!rule.holds(value)) {
      throw new ConfigurationError(`${what}: ${name} is ${show(value)}, expected ${rule.expected}`);
    }
    stated[name] = name === "metadata" ? Object.freeze({ ...(value as JsonObject) }) : value;
  }
  return Object.freeze(stated) as StatedTraits;
}

/**
 * Refuses options that do not exist, which are misspelt ones as a rule.
 *
 * @throws ConfigurationError that names the option and lists those that exist
 */
export function refuseUnknown(what: string, given: object, own: readonly string[]): void {
  const known = [...own, ...traitNames];
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    throw new ConfigurationError(
      `${what} has no option ${JSON.stringify(key)}: expected any of ${known.join(", ")}`,
    );
  }
}

/**
 * Checks a tool's name.
 *
 * @throws ConfigurationError where it is no string, empty, or not well-formed Unicode
 */
export function readName(what: string, name: unknown): string {
  if (!text.holds(name)) {
    throw new ConfigurationError(`${what} has the name ${show(name)}: expected ${text.expected}`);
  }
  return name as string;
}

/**
 * Checks a tool's description; none is the empty one.
 *
 * @throws ConfigurationError where it is no string or not well-formed Unicode
 */
export function readDescription(what: string, description: unknown): string {
  if (description === undefined || description === null) return "";
  if (typeof description !== "string" || !description.isWellFormed()) {
    throw new ConfigurationError(`${what} has the description ${show(description)}: expected text`);
  }
  return description;
}
