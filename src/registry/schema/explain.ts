import type { ErrorObject } from "ajv";
import type { JsonValue } from "../../domain/json.ts";
import { show } from "../show.ts";
import { exactly } from "./exact-numbers.ts";
import { convertKey } from "./library-options.ts";
import type { StandardIssue } from "./standard-schema.ts";

const maxMessages = 10;

/** The validator's findings as one sentence that names each path and what was expected there. */
export function explainErrors(errors: readonly ErrorObject[]): readonly string[] {
  const telling = withoutUnionNoise(errors);
  const real = telling.filter(({ keyword }) => keyword !== "if");
  return (real.length > 0 ? real : telling).map(explain);
}

/** A library's findings in the same form. */
export function explainIssues(issues: readonly StandardIssue[]): readonly string[] {
  return issues.map(({ path, message }) => {
    const keys = (path ?? []).map((part) => (typeof part === "object" ? part.key : part));
    return keys.length > 0 ? `${formatPath(keys)}: ${message}` : message;
  });
}

/** Joins findings, each once, the first ten of them. */
export function joinFindings(findings: readonly string[]): string {
  const unique = [...new Set(findings)];
  const more = unique.length - maxMessages;
  const shown = unique.slice(0, maxMessages).join("; ");
  return more > 0 ? `${shown}; and ${more} more` : shown;
}

/** A path as a person would write it: `filter.tags[0]`. */
export function formatPath(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    const text = String(key);
    if (typeof key === "number" || /^\d+$/u.test(text)) path += `[${text}]`;
    else if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(text)) path += path === "" ? text : `.${text}`;
    else path += `[${JSON.stringify(text)}]`;
  }
  return path;
}

function explain(error: ErrorObject): string {
  const keys = keysOf(error.instancePath);
  const params = error.params as Readonly<Record<string, unknown>>;
  const at = formatPath(keys) || "the arguments";
  switch (error.keyword) {
    case "required":
      return `${formatPath([...keys, String(params["missingProperty"])])} is missing${expectation(error, String(params["missingProperty"]))}`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const key = params["additionalProperty"] ?? params["unevaluatedProperty"];
      return `${formatPath([...keys, String(key)])} is not a known argument`;
    }
    case "enum":
      return `${at} must be one of ${(written(error) as unknown[]).map(show).join(", ")}, got ${show(error.data)}`;
    case "const":
      return `${at} must be ${show(written(error))}, got ${show(error.data)}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `${at} must be ${String(params["comparison"])} ${show(written(error))}, got ${show(error.data)}`;
    case "type":
      return `${at} must be ${String(params["type"]).replaceAll(",", " or ")}, got ${show(error.data)}`;
    case convertKey:
      return error.schema === "date"
        ? `${at} must be a date-time such as 2031-02-03T04:05:06Z, got ${show(error.data)}`
        : `${at} must be an integer ${limitsOf(error.parentSchema ?? {})}`;
    default:
      return `${at} ${error.message ?? "does not fit its schema"}, got ${show(error.data)}`;
  }
}

/** What the keyword says, every digit of it; what several say together is in the finding alone. */
function written({ keyword, params, parentSchema }: ErrorObject): unknown {
  return (
    exactly(parentSchema ?? {}, keyword) ??
    params["allowedValues"] ??
    params["allowedValue"] ??
    params["limit"]
  );
}

/** What a schema says of an integer, as its author wrote it. */
function limitsOf(schema: Readonly<Record<string, JsonValue>>): string {
  const allowed = exactly(schema, "enum") ?? exactly(schema, "const");
  if (allowed !== undefined) return `of ${[allowed].flat().map(show).join(", ")}`;
  const limits = ["format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
    .map((key) => [key, exactly(schema, key)] as const)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} ${typeof value === "string" ? value : show(value)}`);
  return limits.length === 0 ? "within the limits of its schema" : `of ${limits.join(" and ")}`;
}

function expectation(error: ErrorObject, key: string): string {
  const { properties } = (error.parentSchema ?? {}) as { properties?: Record<string, unknown> };
  const declared = properties && Object.hasOwn(properties, key) ? properties[key] : undefined;
  const type = typeof declared === "object" ? (declared as { type?: unknown }).type : undefined;
  return typeof type === "string" ? `: it must be ${type}` : "";
}

function keysOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * A union fails with the findings of all its branches. Only those of the branch that the author of
 * the value most likely meant are telling; where there is none, the union's own.
 */
function withoutUnionNoise(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let left = [...errors];
  for (const union of errors.toReversed()) {
    if (union.keyword !== "anyOf" && union.keyword !== "oneOf") continue;
    if (!left.includes(union)) continue;
    const branches = new Map<string, ErrorObject[]>();
    for (const error of left) {
      const branch = branchOf(union, error);
      if (branch !== undefined) branches.set(branch, [...(branches.get(branch) ?? []), error]);
    }
    if (branches.size === 0) continue;
    const meant = [...branches.values()]
      .filter((branch) => !branch.some((error) => rulesOut(union, error)))
      .toSorted((a, b) => a.length - b.length)[0];
    const noise = new Set([...branches.values()].flat());
    const telling = meant ?? [ruledOutTogether(union, [...noise])];
    left = [...left.filter((error) => error !== union && !noise.has(error)), ...telling];
  }
  return left;
}

function branchOf(union: ErrorObject, error: ErrorObject): string | undefined {
  const prefix = `${union.schemaPath}/`;
  if (error === union || !error.schemaPath.startsWith(prefix)) return undefined;
  return error.schemaPath.slice(prefix.length).split("/")[0];
}

/** Whether a finding says that the value was not meant for this branch at all. */
function rulesOut(union: ErrorObject, error: ErrorObject): boolean {
  const isOwnType = error.keyword === "type" && error.instancePath === union.instancePath;
  return isOwnType || error.keyword === "const";
}

/** One finding for a value that no branch was meant for: by its type, or by a constant member. */
function ruledOutTogether(union: ErrorObject, errors: readonly ErrorObject[]): ErrorObject {
  const [first, ...rest] = errors.filter((error) => rulesOut(union, error));
  if (!first) return union;
  const isSame = ({ keyword, instancePath }: ErrorObject): boolean =>
    keyword === first.keyword && instancePath === first.instancePath;
  if (!rest.every(isSame)) return union;
  if (first.keyword === "type") {
    const types = [first, ...rest].map(({ params }) => String(params["type"]));
    return { ...first, params: { type: [...new Set(types)].join(",") } };
  }
  const allowedValues = [first, ...rest].map(({ params }): unknown => params["allowedValue"]);
  return { ...first, keyword: "enum", params: { allowedValues } };
}
