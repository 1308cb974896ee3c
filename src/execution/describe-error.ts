import type { ErrorKind } from "../domain/call.ts";

/** What a tool's failure reads like to the model. */
export interface Failure {
  readonly errorKind: ErrorKind;
  readonly error: string;
}

/** A failure whose kind and text are already settled, such as a mounted server's own answer. */
export class SettledFailure extends Error {
  readonly toolportFailure: Failure;

  constructor(errorKind: ErrorKind, sentence: string, options: { cause?: unknown } = {}) {
    super(sentence, options);
    this.name = "SettledFailure";
    this.toolportFailure = { errorKind, error: sentence };
  }
}

/**
 * Renders whatever a tool threw as `Class: message`. Never throws, whatever getters, cycles and
 * non-strings it meets; a stack is never part of it.
 */
export function describeError(thrown: unknown): Failure {
  return settledFailure(thrown) ?? { errorKind: "RAISED", error: describe(thrown, 0) };
}

function describe(thrown: unknown, depth: number): string {
  return settledFailure(thrown)?.error ?? `${className(thrown)}: ${message(thrown, depth)}`;
}

/** What a {@link SettledFailure} carries; that of another copy of this package counts too. */
function settledFailure(thrown: unknown): Failure | undefined {
  if (!isError(thrown)) return undefined;
  const known = read(thrown, "toolportFailure");
  const errorKind = read(known, "errorKind");
  const error = read(known, "error");
  const isKnown = typeof errorKind === "string" && Object.hasOwn(errorKinds, errorKind);
  return isKnown && typeof error === "string"
    ? { errorKind: errorKind as ErrorKind, error }
    : undefined;
}

const errorKinds: Readonly<Record<ErrorKind, true>> = {
  UNKNOWN_TOOL: true,
  INVALID_ARGUMENTS: true,
  RAISED: true,
  TIMED_OUT: true,
  REFUSED: true,
  BUDGET_EXHAUSTED: true,
  RESULT_UNSERIALIZABLE: true,
  RESULT_TOO_LARGE: true,
  HOST_LOST: true,
  INDETERMINATE: true,
};

/** How deep the parts of an AggregateError are told, and how many of each. */
const maxDepth = 2;
const maxParts = 16;

/** A failure of another kind: the kind in camel case, a colon and a sentence. */
export function failure(errorKind: ErrorKind, sentence: string): Failure {
  const name = errorKind
    .toLowerCase()
    .replace(/(?:^|_)([a-z])/gu, (_, letter: string) => letter.toUpperCase());
  return { errorKind, error: `${name}: ${sentence}` };
}

/** Whether something is an abort or time-out error, as platform functions throw them. */
export function isAbortError(thrown: unknown): boolean {
  const name = read(thrown, "name");
  return name === "AbortError" || name === "TimeoutError" || name === "CancelledError";
}

function className(thrown: unknown): string {
  const name = read(thrown, "name");
  if (isError(thrown) && typeof name === "string" && name !== "" && name !== "Error") return name;
  const maker = read(read(thrown, "constructor"), "name");
  const isNamed = typeof maker === "string" && maker !== "" && maker !== "Object";
  return isObject(thrown) && isNamed ? maker : "Error";
}

function message(thrown: unknown, depth: number): string {
  if (!isObject(thrown)) return text(thrown);
  const own = read(thrown, "message");
  const parts = depth < maxDepth ? partsOf(thrown) : [];
  if (parts.length > 0) {
    const inner = parts.map((part) => describe(part, depth + 1));
    return [...(own === "" || own === undefined ? [] : [text(own)]), ...inner].join("; ");
  }
  return isError(thrown) || own !== undefined ? text(own) : text(thrown);
}

function partsOf(thrown: object): readonly unknown[] {
  const parts = read(thrown, "errors");
  try {
    return Array.isArray(parts) ? Array.from(parts.slice(0, maxParts)) : [];
  } catch {
    return [];
  }
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "";
  try {
    if (isObject(value)) return JSON.stringify(value) ?? "";
    // oxlint-disable-next-line typescript/no-base-to-string -- objects are gone by here
    return String(value);
  } catch {
    return "(its message cannot be read)";
  }
}

function read(value: unknown, key: string): unknown {
  if (!isObject(value)) return undefined;
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return key === "message" ? "(its message cannot be read)" : undefined;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

// Not in TypeScript's library for this target yet: it also knows errors of another realm.
const isError = (Error as unknown as { isError(value: unknown): value is Error }).isError;
