import type { FuncKeywordDefinition } from "ajv";
import type { JsonValue } from "../../domain/json.ts";
import { exactly } from "./exact-numbers.ts";
import { listMember, member, type MutableObject } from "./json-copy.ts";
import { convertKey } from "./library-options.ts";

// The validator knows JSON's types alone. A call's integers beyond 2^53 are shown to it rounded, and
// put back exactly where the schema allows them; where it doesn't, the call is refused. In the same
// way, dates and big integers of a library's schema are handed over as the library's own types once
// the text has passed.

/** An integer beyond 2^53 in a call's arguments, which is shown to the validator rounded. */
export interface WideInteger {
  readonly parent: object;
  readonly key: string | number;
  readonly value: bigint;
  readonly path: string;
}

/** What one check keeps beside the value. */
export interface CheckContext {
  readonly wide: readonly WideInteger[];
  /** Filled by the validator: places whose schema allows, or asks for, another type. */
  readonly conversions: {
    readonly parent: object;
    readonly key: string | number;
    readonly to: Mark;
    /** The default of that place, where it is wide: the validator fills in the rounded one. */
    readonly fallback: bigint | undefined;
  }[];
}

/** What a marked place becomes; the sized ones stay numbers while they are safe. */
export type Mark = "date" | "bigint" | "int64" | "uint64";

const bounds: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

/** The mark of an integer schema of JSON Schema's own formats for wide integers. */
export function markFor(schema: MutableObject): Mark | undefined {
  const format = member(schema, "format");
  const type = member(schema, "type");
  const isInteger = type === "integer" || listMember(schema, "type").includes("integer");
  return isInteger && (format === "int64" || format === "uint64") ? format : undefined;
}

/** The keyword by which the validator reports marked places. */
export const convertKeyword: FuncKeywordDefinition = {
  keyword: convertKey,
  errors: false,
  validate(this: CheckContext, to: Mark, value: unknown, schema?: object, at?: At): boolean {
    if (to === "date" && typeof value === "string" && !isDateTime(value)) return false;
    if (!at || typeof value !== (to === "date" ? "string" : "number")) return true;
    const { parentData: parent, parentDataProperty: key } = at;
    const exact = this.wide.find((one) => one.parent === parent && one.key === key)?.value;
    const fallback = schema && exactly(schema as MutableObject, "default");
    this.conversions.push({
      parent,
      key,
      to,
      fallback: typeof fallback === "bigint" ? fallback : undefined,
    });
    return exact === undefined || isInRange(exact, schema as MutableObject);
  },
};

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/iu;

function isDateTime(text: string): boolean {
  return dateTime.test(text) && !Number.isNaN(new Date(text).getTime());
}

interface At {
  readonly parentData: object;
  readonly parentDataProperty: string | number;
}

/** Rounded numbers have passed the validator; this is the check of the exact one. */
function isInRange(value: bigint, schema: MutableObject): boolean {
  const format = member(schema, "format");
  const [least, most] = (typeof format === "string" && bounds[format]) || [value, value];
  if (value < least || value > most) return false;
  const allowed = [...listOf(exactly(schema, "enum")), ...optional(exactly(schema, "const"))];
  if (allowed.length > 0 && !allowed.some((one) => isSame(one, value))) return false;
  const number = (key: string): number | bigint | undefined => {
    const bound = exactly(schema, key);
    return typeof bound === "number" || typeof bound === "bigint" ? bound : undefined;
  };
  const minimum = number("minimum") ?? value;
  const maximum = number("maximum") ?? value;
  const above = number("exclusiveMinimum") ?? value - 1n;
  const below = number("exclusiveMaximum") ?? value + 1n;
  return value >= minimum && value <= maximum && value > above && value < below;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function optional(value: JsonValue | undefined): readonly JsonValue[] {
  return value === undefined ? [] : [value];
}

function isSame(one: JsonValue, value: bigint): boolean {
  return typeof one === "bigint"
    ? one === value
    : Number.isInteger(one) && BigInt(Number(one)) === value;
}

/** The wide integers that no schema allows. */
export function refusedIntegers({ wide, conversions }: CheckContext): readonly WideInteger[] {
  return wide.filter(
    ({ parent, key }) => !conversions.some((one) => one.parent === parent && one.key === key),
  );
}

/** Turns the marked places into what their schemas ask for. */
export function applyConversions({ wide, conversions }: CheckContext): void {
  for (const { parent, key, to, fallback } of conversions) {
    const holder = parent as Record<string | number, unknown>;
    const value = holder[key];
    const given = wide.find((one) => one.parent === parent && one.key === key)?.value;
    // An integer that wide and not given as one is the default.
    const exact = given ?? (value === Number(fallback) ? fallback : undefined);
    if (to === "date" && typeof value === "string") holder[key] = new Date(value);
    else if (exact !== undefined) holder[key] = exact;
    else if (to === "bigint" && Number.isInteger(value)) holder[key] = BigInt(value as number);
  }
}
