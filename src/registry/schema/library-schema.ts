import type { JsonSchema, JsonValue } from "../../domain/json.ts";
import { ConfigurationError } from "../../errors.ts";
import { inlineRefs } from "./inline-refs.ts";
import { copyJson, isObject, type MutableObject, setMember } from "./json-copy.ts";
import type { StandardSchema } from "./standard-schema.ts";

/**
 * Marks, in the schema that validates, where the library wants another type than JSON has: `date`
 * or `bigint`, which the place is turned into before the library checks it. Never advertised.
 */
export const convertKey = "x-toolport-convert";

/** The input side of a library's schema as JSON Schema, with the marks in it. */
export interface DescribedSchema {
  readonly schema: JsonSchema;
  readonly warnings: readonly string[];
}

/**
 * Describes the input side of a library's schema. A node that JSON Schema can't express is open,
 * with a warning; dates are strings of format `date-time` and big integers are integers, and both
 * reach the library as what it asks for. Sub-schemas that are used twice are written out twice.
 *
 * @throws ConfigurationError where the library can't describe its schemas at all
 */
export function describeInput(schema: StandardSchema): DescribedSchema {
  const { jsonSchema, vendor } = schema["~standard"];
  if (typeof jsonSchema?.input !== "function") {
    throw new ConfigurationError(
      `its parameters are a schema of ${vendor}, which does not describe itself as JSON Schema: ` +
        "use zod 4, wrap it with the library's own converter to Standard JSON Schema, or pass a JSON Schema object",
    );
  }
  const warnings: string[] = [];
  let described: unknown;
  try {
    described = jsonSchema.input({
      target: "draft-2020-12",
      libraryOptions: vendor === "zod" ? zodOptions(warnings) : {},
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      schema: { type: "object", properties: {} },
      warnings: [
        `its parameters are advertised as an open object, since ${vendor} can't describe them: ${why}`,
      ],
    };
  }
  const copy = copyJson(described);
  if (!isObject(copy)) return { schema: {}, warnings };
  const inlined: MutableObject = {};
  for (const [key, value] of Object.entries(inlineRefs(copy))) {
    if (key !== "$schema" && key !== "id" && key !== "$id") setMember(inlined, key, value);
  }
  return { schema: inlined, warnings };
}

/** The same schema without the marks. */
export function withoutMarks<T extends JsonValue>(node: T): T {
  if (Array.isArray(node)) return node.map((item: JsonValue) => withoutMarks(item)) as unknown as T;
  if (!isObject(node)) return node;
  const plain: MutableObject = {};
  for (const [key, value] of Object.entries(node)) {
    if (key !== convertKey) setMember(plain, key, withoutMarks(value));
  }
  return plain as unknown as T;
}

interface ZodNode {
  readonly _zod?: {
    readonly def?: {
      readonly type?: string;
      readonly format?: unknown;
      readonly values?: readonly unknown[];
      readonly pattern?: unknown;
      readonly checks?: readonly ZodNode[];
    };
    readonly bag?: { readonly patterns?: ReadonlySet<unknown> };
  };
}

interface Unrepresentable {
  readonly zodSchema: ZodNode;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

interface Described {
  readonly zodSchema: ZodNode;
  readonly jsonSchema: Record<string, unknown>;
}

/** zod's own options for what JSON Schema has no word for. */
function zodOptions(warnings: string[]): Record<string, unknown> {
  return {
    unrepresentable({ zodSchema, path, message }: Unrepresentable): unknown {
      const def = zodSchema._zod?.def;
      if (def?.type === "date") {
        return { type: "string", format: "date-time", [convertKey]: "date" };
      }
      if (def?.type === "bigint") return bigintSchema(def.format);
      if (def?.type === "literal") return bigintLiteral(def.values ?? []);
      // Only the default itself is lost; zod still applies it.
      if (def?.type !== "default") {
        const where = path.filter((part) => part !== "properties").join(".") || "its root";
        warnings.push(`${where} is advertised as open and checked by zod alone: ${message}`);
      }
      return "any";
    },
    // JSON Schema's patterns know no flags, so one that ignores case would refuse what zod takes.
    override({ zodSchema, jsonSchema }: Described): void {
      if (jsonSchema["type"] !== "string" || !hasFlaggedPattern(zodSchema)) return;
      delete jsonSchema["pattern"];
      delete jsonSchema["allOf"];
    },
  };
}

function hasFlaggedPattern({ _zod: zod }: ZodNode): boolean {
  const { pattern, checks = [] } = zod?.def ?? {};
  return (
    [pattern, ...(zod?.bag?.patterns ?? [])].some(
      (one) => one instanceof RegExp && /[ims]/u.test(one.flags),
    ) || checks.some(hasFlaggedPattern)
  );
}

function bigintSchema(format: unknown): Record<string, unknown> {
  const isSized = format === "int64" || format === "uint64";
  return { type: "integer", format: isSized ? format : "bigint", [convertKey]: "bigint" };
}

function bigintLiteral(values: readonly unknown[]): Record<string, unknown> | "any" {
  const isExact = values.every((value) => Number.isSafeInteger(Number(value)));
  if (!isExact || !values.every((value) => typeof value === "bigint")) return "any";
  return { type: "integer", enum: values.map(Number), [convertKey]: "bigint" };
}
