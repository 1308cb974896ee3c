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
  try {
    if (isError(thrown) && "toolportFailure" in thrown) return thrown.toolportFailure as Failure;
  } catch {
    // A proxy that throws is described like anything else.
  }
  return { errorKind: "RAISED", error: `${className(thrown)}: ${message(thrown)}` };
}

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

function message(thrown: unknown): string {
  if (!isObject(thrown)) return text(thrown);
  const own = read(thrown, "message");
  const parts = read(thrown, "errors");
  if (Array.isArray(parts) && parts.length > 0) {
    const inner = parts.slice(0, 16).map((part) => describeError(part).error);
    return [...(own === "" || own === undefined ? [] : [text(own)]), ...inner].join("; ");
  }
  return isError(thrown) || own !== undefined ? text(own) : text(thrown);
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
