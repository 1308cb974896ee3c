import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { stringifyJson } from "../../internal/json-text.ts";
import { formatPath } from "./explain.ts";
import { isObject, listMember, member, objectMember, resolvePointer } from "./json-copy.ts";

// Schemas derived from types use few keywords, all of them known here, so that a value can be matched
// with the branch of a union that it belongs to. The validator has passed the value as a whole; what
// is left is to turn texts into what the types say, in that branch alone.

/**
 * Marks a node whose value reaches the function as another type than JSON has: `date`, `bytes` (a
 * Uint8Array), `buffer`, `bigint` (an integer) or `digits` (text of digits, for a bigint). Never
 * advertised.
 */
export const typeKey = "x-toolport-type";

/** The text of bytes. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u;
const digits = /^-?[0-9]+$/u;
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/iu;

type Keys = readonly (string | number)[];

/** What converting came to; the value is only of use where nothing was found. */
export interface ConvertedValue {
  readonly value: unknown;
  /** One sentence each, naming the path. */
  readonly findings: readonly string[];
}

/** Turns a validated value, in place, into what the types of its schema say. */
export function convertDerived(value: JsonValue, root: JsonSchema): ConvertedValue {
  const findings: string[] = [];

  function convert(node: JsonValue, schema: JsonValue | undefined, keys: Keys): unknown {
    if (!isObject(schema)) return node;
    const ref = member(schema, "$ref");
    if (typeof ref === "string") return convert(node, resolvePointer(root, ref), keys);
    const branches = listMember(schema, "anyOf");
    if (branches.length > 0) {
      const branch = branches.find((one) => fits(node, one, root));
      return convert(node, branch ?? branches.find((one) => isObject(one)), keys);
    }
    const mark = member(schema, typeKey);
    if (typeof mark === "string") return convertMarked(node, mark, schema, keys);
    if (typeof node === "bigint" && member(schema, "type") === "number") {
      findings.push(
        `${formatPath(keys)} is ${node}, outside the safe integer range (-2^53 to 2^53): its schema takes no wider integer`,
      );
    }
    if (typeof node === "object" && node !== null) convertMembers(node, schema, keys);
    return node;
  }

  function convertMembers(node: object, schema: JsonObject, keys: Keys): void {
    const holder = node as Record<string | number, unknown>;
    const list = Array.isArray(node);
    for (const key of Object.keys(node)) {
      const at = list ? Number(key) : key;
      const inner = list
        ? itemSchema(schema, Number(key))
        : memberSchemas(schema, key).find((one) => isObject(one));
      if (inner !== undefined) {
        holder[at] = convert(holder[at] as JsonValue, inner, [...keys, at]);
      }
    }
  }

  function convertMarked(node: JsonValue, mark: string, schema: JsonObject, keys: Keys): unknown {
    const made = convertScalar(node, mark, schema);
    if (made !== undefined) return made;
    findings.push(`${formatPath(keys)} must be ${expected(mark, schema)}, got ${shown(node)}`);
    return node;
  }

  return { value: convert(value, root, []), findings };
}

/** The value that a text or integer stands for; undefined where it stands for none. */
function convertScalar(node: JsonValue, mark: string, schema: JsonObject): unknown {
  switch (mark) {
    case "date": {
      const date = typeof node === "string" && dateTime.test(node) ? new Date(node) : undefined;
      return date && !Number.isNaN(date.getTime()) ? date : undefined;
    }
    case "bytes":
    case "buffer": {
      if (typeof node !== "string" || !base64.test(node)) return undefined;
      const bytes = Buffer.from(node, "base64");
      return mark === "buffer" ? bytes : new Uint8Array(bytes);
    }
    default: {
      const isInteger = typeof node === "bigint" || Number.isInteger(node);
      if (!isInteger && !(typeof node === "string" && digits.test(node))) return undefined;
      const whole = BigInt(node as bigint | number | string);
      return isWithin(whole, schema) ? whole : undefined;
    }
  }
}

function isWithin(value: number | bigint, schema: JsonObject): boolean {
  const bound = (key: string): number | bigint | undefined => {
    const limit = member(schema, key);
    return typeof limit === "number" || typeof limit === "bigint" ? limit : undefined;
  };
  const least = bound("minimum");
  const most = bound("maximum");
  const above = bound("exclusiveMinimum");
  const below = bound("exclusiveMaximum");
  return (
    (least === undefined || value >= least) &&
    (most === undefined || value <= most) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below)
  );
}

function expected(mark: string, schema: JsonObject): string {
  if (mark === "date") return "a date-time such as 2031-02-03T04:05:06Z";
  if (mark === "bytes" || mark === "buffer") return "text in base64";
  const limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
    .filter((key) => member(schema, key) !== undefined)
    .map((key) => `${key} ${shown(member(schema, key) ?? null)}`);
  return limits.length === 0
    ? "an integer, or text of its digits"
    : `an integer, or text of its digits, of ${limits.join(" and ")}`;
}

function shown(node: JsonValue): string {
  const text = stringifyJson(node);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The schemas that a member is under; the first of them declares its types. */
function memberSchemas(schema: JsonObject, key: string): readonly JsonValue[] {
  const declared = member(objectMember(schema, "properties") ?? {}, key);
  const patterns = Object.entries(objectMember(schema, "patternProperties") ?? {})
    .filter(([pattern]) => new RegExp(pattern, "u").test(key))
    .map(([, one]) => one);
  const known = declared === undefined ? patterns : [declared, ...patterns];
  const rest = member(schema, "additionalProperties");
  return known.length === 0 && rest !== undefined ? [rest] : known;
}

function itemSchema(schema: JsonObject, index: number): JsonValue | undefined {
  return listMember(schema, "prefixItems")[index] ?? member(schema, "items");
}

/**
 * Whether a JSON value fits a derived schema. Integers may be `bigint`. Formats other than those of
 * marked nodes are left to the validator.
 */
export function fits(value: JsonValue, schema: JsonValue | undefined, root: JsonSchema): boolean {
  if (schema === undefined || schema === true) return true;
  if (!isObject(schema)) return false;
  const ref = member(schema, "$ref");
  if (typeof ref === "string" && !fits(value, resolvePointer(root, ref), root)) return false;
  const branches = listMember(schema, "anyOf");
  if (branches.length > 0 && !branches.some((one) => fits(value, one, root))) return false;
  const not = member(schema, "not");
  if (not !== undefined && fits(value, not, root)) return false;
  return (
    isOfType(value, schema) &&
    isAllowed(value, schema) &&
    fitsScalar(value, schema) &&
    fitsMembers(value, schema, root)
  );
}

function isOfType(value: JsonValue, schema: JsonObject): boolean {
  const type = member(schema, "type");
  if (type === undefined) return true;
  const types = Array.isArray(type) ? (type as readonly JsonValue[]) : [type];
  return types.some((one) => one === typeName(value) || (one === "integer" && isWhole(value)));
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  // A number place takes no integer beyond the safe ones.
  return typeof value === "bigint" ? "integer" : typeof value;
}

function isWhole(value: JsonValue): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

function isAllowed(value: JsonValue, schema: JsonObject): boolean {
  const allowed = member(schema, "enum");
  const constant = member(schema, "const");
  if (constant !== undefined && !isSame(constant, value)) return false;
  return !Array.isArray(allowed) || allowed.some((one: JsonValue) => isSame(one, value));
}

function isSame(one: JsonValue, value: JsonValue): boolean {
  if (one === value) return true;
  return isWhole(one) && isWhole(value) && BigInt(one as number) === BigInt(value as number);
}

function fitsScalar(value: JsonValue, schema: JsonObject): boolean {
  const mark = member(schema, typeKey);
  if (typeof mark === "string") return convertScalar(value, mark, schema) !== undefined;
  if (typeof value === "number" || typeof value === "bigint") {
    const step = member(schema, "multipleOf");
    if (typeof step === "number" && !isMultiple(value, step)) return false;
    return isWithin(value, schema);
  }
  if (typeof value !== "string") return true;
  const pattern = member(schema, "pattern");
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value)) return false;
  return hasLength(Array.from(value).length, schema, "minLength", "maxLength");
}

function isMultiple(value: number | bigint, step: number): boolean {
  const count = Number(value) / step;
  return Number.isInteger(count);
}

function fitsMembers(value: JsonValue, schema: JsonObject, root: JsonSchema): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    return (
      hasLength(items.length, schema, "minItems", "maxItems") &&
      items.every((item, index) => fits(item, itemSchema(schema, index), root))
    );
  }
  const object = value as JsonObject;
  return (
    listMember(schema, "required").every(
      (key) => typeof key === "string" && Object.hasOwn(object, key),
    ) &&
    Object.entries(object).every(([key, inner]) =>
      memberSchemas(schema, key).every((one) => fits(inner, one, root)),
    )
  );
}

function hasLength(length: number, schema: JsonObject, least: string, most: string): boolean {
  const min = member(schema, least);
  const max = member(schema, most);
  return (typeof min !== "number" || length >= min) && (typeof max !== "number" || length <= max);
}
