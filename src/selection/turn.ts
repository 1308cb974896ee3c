import type { SelectableTool, StageAction, StageRecord } from "../domain/selection.ts";
import type { StageTool } from "./config.ts";
import { listNames } from "./describe-thrown.ts";

/** One tool of one selection; two entries are the same tool only if they are the same object. */
export interface Entry<T> {
  readonly tool: T;
  /** `null`: nameless, so no list of names can speak of it. */
  readonly name: string | null;
  /** What a stage is shown of it. */
  readonly view: StageTool;
}

/** Where a selection stands between two stages. */
export interface Turn<T> {
  /** Names that any tool of the whole set bears. */
  readonly known: ReadonlySet<string>;
  /** What the selection was first handed, before anything narrowed it. */
  readonly candidates: readonly Entry<T>[];
  /** What stands so far. */
  readonly set: readonly Entry<T>[];
  /** The choice that stands so far: a candidate's name, or a reserved word. */
  readonly force: string | null;
}

/** What a stage wants. */
export type Verdict<T> =
  | { readonly kind: "abstained" | "degraded"; readonly detail: string }
  | {
      readonly kind: "decided";
      /** `null`: no statement about the set. */
      readonly set: readonly Entry<T>[] | null;
      /** `undefined`: no statement about the force; `null`: there is none. */
      readonly force: string | null | undefined;
      readonly detail: string;
    };

/** The name that a list of names can speak of the tool by, or `null`. */
export function nameOf(tool: SelectableTool): string | null {
  const name: unknown = tool.name;
  return typeof name === "string" && name !== "" ? name : null;
}

/** The entries by name; of two that share one, the first. */
export function byName<T>(entries: readonly Entry<T>[]): ReadonlyMap<string, Entry<T>> {
  const map = new Map<string, Entry<T>>();
  for (const entry of entries) {
    if (entry.name !== null && !map.has(entry.name)) map.set(entry.name, entry);
  }
  return map;
}

/**
 * Applies a stage's verdict: protects the tool that stands forced, and records what happened.
 *
 * A forced tool that is not in the resulting set is brought back last. A reserved word cannot be
 * satisfied once no tool is left, so it is lifted.
 */
export function settle<T>(
  turn: Turn<T>,
  stage: string,
  verdict: Verdict<T>,
): { readonly turn: Turn<T>; readonly record: StageRecord } {
  if (verdict.kind !== "decided") {
    return { turn, record: silentRecord(stage, verdict.kind, verdict.detail) };
  }
  const wanted = verdict.set ?? turn.set;
  const force = verdict.force === undefined ? turn.force : verdict.force;
  const reinstated = protect(turn.candidates, wanted, force);
  const set = [...wanted, ...reinstated];
  const isUnsatisfiable = force !== null && set.length === 0;
  const change = compare(turn.set, wanted);
  const states = verdict.set !== null;
  const record: StageRecord = freezeRecord({
    stage,
    action: forceAction(verdict.force) ?? change.action,
    kept: states ? change.kept.map(print) : [],
    dropped: states ? change.dropped.filter((entry) => !reinstated.includes(entry)).map(print) : [],
    added: states ? change.added.map(print) : [],
    reinstated: reinstated.map(print),
    forcedChoice: verdict.force ?? null,
    detail: isUnsatisfiable
      ? joinDetails(verdict.detail, `no tool is left, so ${listNames([force])} is lifted`)
      : verdict.detail,
  });
  return { turn: { ...turn, set, force: isUnsatisfiable ? null : force }, record };
}

/** The record of a stage that changed nothing. */
export function silentRecord(stage: string, action: StageAction, detail: string): StageRecord {
  return freezeRecord({
    stage,
    action,
    kept: [],
    dropped: [],
    added: [],
    reinstated: [],
    forcedChoice: null,
    detail,
  });
}

/** Joins what is not empty. */
export function joinDetails(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("; ");
}

function protect<T>(
  candidates: readonly Entry<T>[],
  wanted: readonly Entry<T>[],
  force: string | null,
): readonly Entry<T>[] {
  if (force === null || wanted.some((entry) => entry.name === force)) return [];
  const first = candidates.find((entry) => entry.name === force);
  return first === undefined ? [] : [first];
}

interface Change<T> {
  readonly action: StageAction;
  readonly kept: readonly Entry<T>[];
  readonly dropped: readonly Entry<T>[];
  readonly added: readonly Entry<T>[];
}

function compare<T>(before: readonly Entry<T>[], wanted: readonly Entry<T>[]): Change<T> {
  const had = new Set(before);
  const has = new Set(wanted);
  const kept = wanted.filter((entry) => had.has(entry));
  const added = wanted.filter((entry) => !had.has(entry));
  const dropped = before.filter((entry) => !has.has(entry));
  let action: StageAction = "unchanged";
  if (dropped.length > 0) action = wanted.length === 0 ? "emptied" : "narrowed";
  else if (added.length > 0) action = "extended";
  return { action, kept, dropped, added };
}

function forceAction(force: string | null | undefined): StageAction | null {
  if (force === undefined) return null;
  return force === null ? "released" : "forced";
}

function print(entry: Entry<unknown>): string {
  return entry.name ?? "<unnamed>";
}

function freezeRecord(record: StageRecord): StageRecord {
  for (const value of Object.values(record)) Object.freeze(value);
  return Object.freeze(record);
}
