// What JSON Schema has no word for, each library is told in its own terms: dates and big integers
// have an encoding, a node that can't be described is open with a warning, and a check that can't be
// described is left to the library, which still decides.

/**
 * Marks, in the schema that validates, where the library wants another type than JSON has: `date`
 * or `bigint`, which the place is turned into before the library checks it. Never advertised.
 */
export const convertKey = "x-toolport-convert";

/**
 * A library's own options for describing its schemas.
 *
 * @param warnings takes a sentence for each node that is advertised as open
 */
export function optionsOf(vendor: string, warnings: string[]): Record<string, unknown> {
  switch (vendor) {
    case "zod":
      return zodOptions(warnings);
    case "valibot":
      return valibotOptions(warnings);
    case "arktype":
      return arktypeOptions(warnings);
    default:
      return {};
  }
}

const dateSchema = Object.freeze({ type: "string", format: "date-time", [convertKey]: "date" });

interface ValibotNode {
  readonly valibotSchema: { readonly type: string };
  readonly errors?: readonly string[] | undefined;
}

interface ValibotAction {
  readonly valibotAction: { readonly type: string };
  readonly jsonSchema: Record<string, unknown>;
  readonly errors?: readonly string[] | undefined;
}

function valibotOptions(warnings: string[]): Record<string, unknown> {
  return {
    overrideSchema({ valibotSchema: { type }, errors }: ValibotNode): unknown {
      if (type === "date") return { ...dateSchema };
      if (type === "bigint") return bigintSchema("bigint");
      if (!errors) return undefined;
      warnings.push(
        `a node is advertised as open and checked by valibot alone: ${errors.join(" ")}`,
      );
      return {};
    },
    overrideAction({ valibotAction, jsonSchema, errors }: ValibotAction): unknown {
      if (!errors) return undefined;
      const { pattern, ...rest } = jsonSchema;
      // JSON Schema's patterns know no flags, so one that ignores case would refuse too much.
      return valibotAction.type === "regex" || pattern === undefined ? rest : jsonSchema;
    },
  };
}

interface ArktypeNode {
  readonly base: Record<string, unknown>;
  readonly domain?: string;
  readonly proto?: unknown;
}

const date = ({ base }: ArktypeNode): Record<string, unknown> => ({ ...base, ...dateSchema });
const kept = ({ base }: ArktypeNode): Record<string, unknown> => base;

function arktypeOptions(warnings: string[]): Record<string, unknown> {
  const open = ({ base, domain, proto }: ArktypeNode): Record<string, unknown> => {
    if (domain === "bigint") return { ...base, ...bigintSchema("bigint") };
    if (proto === Date) return { ...base, ...dateSchema };
    const what = typeof proto === "function" ? proto.name : (domain ?? "a value");
    warnings.push(
      `a node is advertised as open and checked by arktype alone: ${what} has no JSON form`,
    );
    return base;
  };
  return {
    fallback: {
      domain: open,
      proto: open,
      unit: open,
      date,
      predicate: kept,
      morph: kept,
      arrayObject: kept,
      arrayPostfix: kept,
      patternIntersection: kept,
      symbolKey: kept,
      defaultValue: () => undefined,
    },
  };
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
