import type { JsonValue } from "../../domain/json.ts";
import { convertKey } from "./library-options.ts";
import { type DescribedSchema } from "./library-schema.ts";
import { copyJson, type MutableObject, setMember } from "./json-copy.ts";
import type { StandardResult } from "./standard-schema.ts";

/** A schema of zod 3, which can't describe itself; many LangChain.js tools carry one. */
export interface Zod3Schema {
  readonly _def: Zod3Def;
  readonly description?: string | undefined;
  safeParseAsync(value: unknown): Promise<Zod3Result>;
}

type Zod3Result =
  | { readonly success: true; readonly data: unknown }
  | {
      readonly success: false;
      readonly error: {
        readonly issues: readonly {
          readonly message: string;
          readonly path: readonly PropertyKey[];
        }[];
      };
    };

/** The parts of zod 3's definitions that are read here; which are there depends on the type. */
interface Zod3Def {
  readonly typeName: string;
  readonly checks?: readonly Zod3Check[];
  readonly shape?: () => Readonly<Record<string, Zod3Schema>>;
  readonly unknownKeys?: "strict" | "strip" | "passthrough";
  readonly catchall?: Zod3Schema;
  readonly type?: Zod3Schema;
  readonly items?: readonly Zod3Schema[];
  readonly rest?: Zod3Schema | null;
  readonly innerType?: Zod3Schema;
  readonly schema?: Zod3Schema;
  readonly in?: Zod3Schema;
  readonly left?: Zod3Schema;
  readonly right?: Zod3Schema;
  readonly valueType?: Zod3Schema;
  readonly options?: readonly Zod3Schema[] | ReadonlyMap<unknown, Zod3Schema>;
  readonly values?: readonly string[] | Readonly<Record<string, string | number>>;
  readonly value?: unknown;
  readonly defaultValue?: () => unknown;
  readonly getter?: () => Zod3Schema;
  readonly minLength?: { readonly value: number } | null;
  readonly maxLength?: { readonly value: number } | null;
}

interface Zod3Check {
  readonly kind: string;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly regex?: RegExp;
}

/** Recognises a schema of zod 3, of any copy of it. */
export function isZod3Schema(value: unknown): value is Zod3Schema {
  if (typeof value !== "object" || value === null || "_zod" in value) return false;
  const { _def: def, safeParseAsync } = value as Partial<Zod3Schema>;
  return typeof safeParseAsync === "function" && /^Zod[A-Z]/u.test(String(def?.typeName));
}

/** The library's own validation. */
export async function parseWithZod3(
  schema: Zod3Schema,
  value: unknown,
): Promise<StandardResult<unknown>> {
  const result = await schema.safeParseAsync(value);
  return result.success ? { value: result.data } : { issues: result.error.issues };
}

/** The input side of a zod 3 schema as JSON Schema; what it has no word for is open. */
export function describeZod3(schema: Zod3Schema): DescribedSchema {
  const warnings: string[] = [];
  const described = copyJson(describe(schema, { warnings, path: [], open: [] }));
  return { schema: described as MutableObject, warnings };
}

interface Walk {
  readonly warnings: string[];
  readonly path: readonly string[];
  /** The schemas around this one, to find recursion. */
  readonly open: readonly Zod3Schema[];
}

type Plain = Record<string, unknown>;

function describe(schema: Zod3Schema, walk: Walk): Plain {
  if (walk.open.includes(schema)) return open(walk, "it is recursive");
  const inner = { ...walk, open: [...walk.open, schema] };
  const described = byType(schema._def, inner);
  return schema.description === undefined
    ? described
    : { ...described, description: schema.description };
}

function byType(def: Zod3Def, walk: Walk): Plain {
  const one = (schema: Zod3Schema | undefined, key = ""): Plain =>
    schema ? describe(schema, { ...walk, path: key === "" ? walk.path : [...walk.path, key] }) : {};
  switch (def.typeName) {
    case "ZodString":
      return { type: "string", ...stringChecks(def.checks ?? []) };
    case "ZodNumber":
      return numberSchema(def.checks ?? []);
    case "ZodBigInt":
      return { type: "integer", format: "bigint", [convertKey]: "bigint" };
    case "ZodBoolean":
      return { type: "boolean" };
    case "ZodDate":
      return { type: "string", format: "date-time", [convertKey]: "date" };
    case "ZodNull":
      return { type: "null" };
    case "ZodAny":
    case "ZodUnknown":
      return {};
    case "ZodLiteral":
      return { const: def.value };
    case "ZodEnum":
      return { type: "string", enum: def.values };
    case "ZodNativeEnum":
      return { enum: nativeValues(def.values as Readonly<Record<string, string | number>>) };
    case "ZodObject":
      return objectSchema(def, one);
    case "ZodRecord":
      return { type: "object", additionalProperties: one(def.valueType, "*") };
    case "ZodArray":
      return {
        type: "array",
        items: one(def.type, "items"),
        ...(def.minLength && { minItems: def.minLength.value }),
        ...(def.maxLength && { maxItems: def.maxLength.value }),
      };
    case "ZodTuple":
      return {
        type: "array",
        prefixItems: def.items?.map((item, index) => one(item, String(index))) ?? [],
        minItems: def.items?.length ?? 0,
        items: def.rest ? one(def.rest, "rest") : false,
      };
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      return { anyOf: [...(def.options?.values() ?? [])].map((option) => one(option)) };
    case "ZodIntersection":
      return { allOf: [one(def.left), one(def.right)] };
    case "ZodNullable":
      return { anyOf: [one(def.innerType), { type: "null" }] };
    case "ZodDefault":
      return { ...one(def.innerType), ...defaultOf(def) };
    case "ZodOptional":
    case "ZodCatch":
    case "ZodReadonly":
      return one(def.innerType);
    case "ZodBranded":
      return one(def.type);
    case "ZodEffects":
      return one(def.schema);
    case "ZodPipeline":
      return one(def.in);
    case "ZodLazy":
      return one(def.getter?.());
    default:
      return open(walk, `JSON Schema has no word for ${def.typeName}`);
  }
}

function open({ warnings, path }: Walk, why: string): Plain {
  warnings.push(
    `${path.join(".") || "its root"} is advertised as open and checked by zod alone: ${why}`,
  );
  return {};
}

function objectSchema(def: Zod3Def, one: (schema: Zod3Schema, key: string) => Plain): Plain {
  const properties: MutableObject = {};
  const required: string[] = [];
  for (const [key, schema] of Object.entries(def.shape?.() ?? {})) {
    setMember(properties, key, one(schema, key) as JsonValue);
    if (!isOptional(schema)) required.push(key);
  }
  const isOpen = def.catchall && def.catchall._def.typeName !== "ZodNever";
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    ...(def.unknownKeys === "strict" && !isOpen && { additionalProperties: false }),
    ...(isOpen && def.catchall && { additionalProperties: one(def.catchall, "*") }),
  };
}

function isOptional(schema: Zod3Schema): boolean {
  const { typeName, innerType, schema: wrapped, type, in: input } = schema._def;
  if (["ZodOptional", "ZodDefault", "ZodAny", "ZodUnknown", "ZodCatch"].includes(typeName))
    return true;
  const inner = {
    ZodNullable: innerType,
    ZodReadonly: innerType,
    ZodEffects: wrapped,
    ZodBranded: type,
    ZodPipeline: input,
  }[typeName];
  return inner !== undefined && isOptional(inner);
}

function stringChecks(checks: readonly Zod3Check[]): Plain {
  const schema: Plain = {};
  for (const { kind, value, regex } of checks) {
    if (kind === "min" || kind === "length") schema["minLength"] = value;
    if (kind === "max" || kind === "length") schema["maxLength"] = value;
    if (kind === "regex" && regex && regex.flags.replace("u", "") === "")
      schema["pattern"] = regex.source;
    // zod's URLs, date-times and times are wider than the formats of these names.
    if (kind === "email" || kind === "uuid" || kind === "date") schema["format"] = kind;
  }
  return schema;
}

function numberSchema(checks: readonly Zod3Check[]): Plain {
  const schema: Plain = { type: "number" };
  for (const { kind, value, inclusive } of checks) {
    if (kind === "int") schema["type"] = "integer";
    if (kind === "min") schema[inclusive ? "minimum" : "exclusiveMinimum"] = value;
    if (kind === "max") schema[inclusive ? "maximum" : "exclusiveMaximum"] = value;
    if (kind === "multipleOf") schema["multipleOf"] = value;
  }
  return schema;
}

function nativeValues(values: Readonly<Record<string, string | number>>): readonly unknown[] {
  // A numeric enum also maps its numbers back to names.
  return Object.keys(values)
    .filter((key) => typeof values[String(values[key])] !== "number")
    .map((key) => values[key]);
}

function defaultOf(def: Zod3Def): Plain {
  try {
    const value = def.defaultValue?.();
    return typeof value === "bigint" || value === undefined
      ? {}
      : { default: copyJson(JSON.parse(JSON.stringify(value))) };
  } catch {
    return {};
  }
}
