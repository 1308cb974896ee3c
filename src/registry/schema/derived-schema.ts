import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import type { ArgumentCheck } from "../../domain/tool.ts";
import { checkWith } from "./check.ts";
import { compile } from "./compile.ts";
import { convertDerived, typeKey } from "./derived-values.ts";
import { joinFindings } from "./explain.ts";
import { convertKey } from "./library-options.ts";
import { deepFreeze, isObject, member, type MutableObject, setMember } from "./json-copy.ts";

const brand: unique symbol = Symbol("derived");

/** Parameters that were derived from a function's types. */
export interface DerivedParameters extends Readonly<Record<string, unknown>> {
  readonly [brand]: true;
  readonly schema: JsonSchema;
  readonly warnings: readonly string[];
}

/**
 * Wraps a derived schema, so that it is read as one.
 *
 * @param schema with `x-toolport-type` where a value is of a type that JSON lacks
 */
export function derivedParameters(
  schema: JsonSchema,
  warnings: readonly string[],
): DerivedParameters {
  return Object.freeze({ [brand]: true as const, schema: deepFreeze(schema), warnings });
}

/** Recognises what {@link derivedParameters} made. */
export function isDerivedParameters(value: unknown): value is DerivedParameters {
  return typeof value === "object" && value !== null && Object.hasOwn(value, brand);
}

/** What a derived schema is advertised as, and its check. */
export interface ReadDerived {
  readonly schema: JsonSchema;
  readonly check: (args: JsonObject) => ArgumentCheck;
}

/**
 * Reads a derived schema. Its validator is made when the first call comes: a set of hundreds of
 * functions is to start at once, and what is derived is known to compile.
 */
export function readDerived(derived: JsonSchema): ReadDerived {
  const schema = deepFreeze(mapNodes(derived, advertised));
  let check: ((args: JsonObject) => ArgumentCheck) | undefined;
  return {
    schema,
    check(args) {
      check ??= makeCheck(derived, schema);
      return check(args);
    },
  };
}

function makeCheck(derived: JsonSchema, schema: JsonSchema): (args: JsonObject) => ArgumentCheck {
  const { validate } = compile(mapNodes(derived, forValidator), { hasLibrary: false });
  const check = checkWith(validate, schema);
  return (args) => {
    // Without a library there is nothing to wait for.
    const checked = check(args) as ArgumentCheck;
    if (!checked.ok) return checked;
    const { value, findings } = convertDerived(checked.value as JsonValue, derived);
    return findings.length === 0
      ? { ok: true, value }
      : { ok: false, message: joinFindings(findings) };
  };
}

function advertised(node: MutableObject): void {
  Reflect.deleteProperty(node, typeKey);
}

/** Integers for a bigint are kept exact; every other conversion follows the validation. */
function forValidator(node: MutableObject): void {
  if (member(node, typeKey) === "bigint") setMember(node, convertKey, "bigint");
  const fallback = member(node, "default");
  if (fallback !== undefined) setMember(node, "default", digitsOf(fallback));
  Reflect.deleteProperty(node, typeKey);
}

/** The validator would round a wide default; its digits are what they stand for. */
function digitsOf(value: JsonValue): JsonValue {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(digitsOf);
  if (!isObject(value)) return value;
  const copy: MutableObject = {};
  for (const [key, inner] of Object.entries(value)) setMember(copy, key, digitsOf(inner));
  return copy;
}

function mapNodes<T extends JsonValue>(node: T, change: (node: MutableObject) => void): T {
  if (Array.isArray(node)) {
    return node.map((item: JsonValue) => mapNodes(item, change)) as unknown as T;
  }
  if (!isObject(node)) return node;
  const copy: MutableObject = {};
  for (const [key, value] of Object.entries(node)) setMember(copy, key, mapNodes(value, change));
  change(copy);
  return copy as unknown as T;
}
