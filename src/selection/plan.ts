import { ConfigurationError } from "../errors.ts";
import type { SelectionConfig, StageInput } from "./config.ts";

/** The built-in stages, in their order. */
export const builtInStages = {
  intent: "intent_routing",
  force: "forced_choice",
  palette: "role_palette",
} as const;

/** A configuration, read and checked. */
export interface Plan {
  readonly intent: IntentPlan | null;
  readonly forcedChoice: Question | null;
  readonly palette: PalettePlan | null;
  readonly stages: readonly { readonly name: string; readonly ask: Question }[];
  readonly stageTimeoutMs: number;
}

/** Asks code of the adopter's; may throw, and may answer anything. */
export type Question = (input: StageInput) => unknown;

/** Intent rules in a form that any name can be looked up in. */
export interface IntentPlan {
  readonly mode: "off" | "observe" | "enforce";
  /** The tools that have a keyword. */
  readonly gated: ReadonlySet<string>;
  readonly alwaysInclude: ReadonlySet<string>;
}

/** Where a role's palette comes from. */
type PalettePlan =
  | { readonly kind: "table"; readonly byRole: ReadonlyMap<string, readonly string[]> }
  | { readonly kind: "resolver"; readonly ask: Question };

/**
 * Reads and checks a configuration.
 *
 * @throws ConfigurationError naming the part that can't be used
 */
export function readConfig(config: SelectionConfig): Plan {
  const parts = record(config, "the selection");
  refuseOthers(parts, "the selection", [
    "intent",
    "forcedChoice",
    "palettes",
    "stages",
    "stageTimeoutMs",
  ]);
  return {
    intent: isAbsent(parts["intent"]) ? null : readIntent(parts["intent"]),
    forcedChoice: isAbsent(parts["forcedChoice"])
      ? null
      : readResolver(parts["forcedChoice"], "forcedChoice"),
    palette: isAbsent(parts["palettes"]) ? null : readPalettes(parts["palettes"]),
    stages: isAbsent(parts["stages"]) ? [] : readStages(parts["stages"]),
    stageTimeoutMs: readTimeout(parts["stageTimeoutMs"]),
  };
}

/**
 * Reads intent rules.
 *
 * @throws ConfigurationError naming the part that can't be used
 */
export function readIntent(value: unknown): IntentPlan {
  const parts = record(value, "intent");
  refuseOthers(parts, "intent", ["mode", "triggerKeywords", "alwaysInclude"]);
  const mode = parts["mode"] ?? "enforce";
  if (mode !== "off" && mode !== "observe" && mode !== "enforce") {
    throw new ConfigurationError(
      `intent.mode is ${print(mode)}; it must be "off", "observe" or "enforce".`,
    );
  }
  const gated = new Set<string>();
  const keywords = record(parts["triggerKeywords"] ?? {}, "intent.triggerKeywords");
  for (const [tool, words] of Object.entries(keywords)) {
    if (names(words, `intent.triggerKeywords[${print(tool)}]`).length > 0) gated.add(tool);
  }
  const always = names(parts["alwaysInclude"] ?? ["hydrate_context"], "intent.alwaysInclude");
  return { mode, gated, alwaysInclude: new Set(always) };
}

function readPalettes(value: unknown): PalettePlan {
  const isTable = isPlainObject(value) && typeof value["resolve"] !== "function";
  if (!isTable) return { kind: "resolver", ask: readResolver(value, "palettes") };
  const byRole = new Map<string, readonly string[]>();
  for (const [role, list] of Object.entries(value)) {
    byRole.set(role, names(list, `palettes[${print(role)}]`));
  }
  return { kind: "table", byRole };
}

function readResolver(value: unknown, place: string): Question {
  if (typeof value === "function") return value as Question;
  if (!isObject(value) || Array.isArray(value)) {
    throw new ConfigurationError(
      `${place} is ${print(value)}; it must be a function or an object with a \`resolve\` method.`,
    );
  }
  if (isPlainObject(value) && typeof value["resolve"] !== "function") {
    throw new ConfigurationError(
      `${place} has no \`resolve\` method; add one, or pass a function.`,
    );
  }
  // An instance may get its method later (a lazy connection, a proxy), so it is looked up each time.
  return (input) => {
    const { resolve } = value as { resolve?: unknown };
    if (typeof resolve !== "function") throw new TypeError("the resolver has no `resolve` method");
    return Reflect.apply(resolve, value, [input]) as unknown;
  };
}

function readStages(value: unknown): Plan["stages"] {
  if (!Array.isArray(value)) {
    throw new ConfigurationError(`stages is ${print(value)}; it must be a list of stages.`);
  }
  const taken = new Set<string>();
  return value.map((stage: unknown, i) => {
    const place = `stages[${i}]`;
    const { name, select } = (isObject(stage) ? stage : {}) as { name?: unknown; select?: unknown };
    if (typeof name !== "string" || name === "" || typeof select !== "function") {
      throw new ConfigurationError(
        `${place} is ${print(stage)}; a stage is an object with a \`name\` and a \`select\` function.`,
      );
    }
    if ((Object.values(builtInStages) as string[]).includes(name)) {
      throw new ConfigurationError(
        `${place} is named ${print(name)}, which is a built-in stage; choose another name.`,
      );
    }
    if (taken.has(name)) {
      throw new ConfigurationError(
        `${place} is named ${print(name)}, like an earlier stage; stages need names of their own.`,
      );
    }
    taken.add(name);
    return { name, ask: (input: StageInput) => Reflect.apply(select, stage, [input]) as unknown };
  });
}

function readTimeout(value: unknown): number {
  if (isAbsent(value)) return 10_000;
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
    throw new ConfigurationError(
      `stageTimeoutMs is ${print(value)}; it must be a positive number of milliseconds.`,
    );
  }
  return value;
}

function names(value: unknown, place: string): readonly string[] {
  if (!Array.isArray(value)) {
    throw new ConfigurationError(`${place} is ${print(value)}; it must be a list of strings.`);
  }
  return Array.from(value, (item: unknown, i) => {
    if (typeof item === "string") return item;
    throw new ConfigurationError(`${place}[${i}] is ${print(item)}; it must be a string.`);
  });
}

function record(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (isObject(value) && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ConfigurationError(`${place} is ${print(value)}; it must be an object.`);
}

function refuseOthers(parts: object, place: string, known: readonly string[]): void {
  for (const key of Object.keys(parts)) {
    if (known.includes(key)) continue;
    throw new ConfigurationError(
      `${place} has no option ${print(key)}; it takes ${known.join(", ")}.`,
    );
  }
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Another realm's Object.prototype has no prototype either.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A value in a few words, for error texts. */
export function print(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value !== "object") {
    return typeof value === "function" ? "a function" : String(value);
  }
  return Array.isArray(value) ? "a list" : "an object";
}
