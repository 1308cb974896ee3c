import { Ajv, type AnySchema, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { JsonSchema, JsonValue } from "../../domain/json.ts";
import { dataKeywords, roundKeywords } from "./exact-numbers.ts";
import { isObject, member, type MutableObject, objectMember, setMember } from "./json-copy.ts";
import { type CheckContext, convertKeyword, markFor } from "./conversions.ts";
import { convertKey } from "./library-options.ts";

/** A compiled schema. `this` is the call's own context; a failure leaves `errors` behind. */
export type Compiled = ValidateFunction & {
  call(context: CheckContext, value: unknown): boolean;
};

/** What compiling came to. */
export interface Compilation {
  readonly validate: Compiled;
  readonly warnings: readonly string[];
}

type Draft = "2020-12" | "draft-07";

const drafts: Readonly<Record<string, Draft>> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "http://json-schema.org/draft-07/schema": "draft-07",
  "http://json-schema.org/draft-06/schema": "draft-07",
};

const warnings: string[] = [];

const common: Options = {
  // Authors' schemas carry keywords and formats of their own; those are let through.
  strict: false,
  allErrors: true,
  verbose: true,
  passContext: true,
  addUsedSchema: false,
  logger: { log: note, warn: note, error: note },
};

/** Validators are costly to make and keep no state between schemas, so they are shared. */
const validators = new Map<string, Ajv>();

/** Who else checks what the schema describes. */
export interface CompileOptions {
  /**
   * A library's own validation follows: it fills defaults and knows what exactly it means by a
   * format, so both are left to it.
   */
  readonly hasLibrary: boolean;
}

/**
 * Compiles a schema. Without a library, absent members are set to their defaults. One without `$schema`, or with an unknown one, is read as 2020-12 and failing
 * that as draft-07.
 *
 * @throws Error in one sentence for a schema that no draft can read
 */
export function compile(schema: JsonSchema, options: CompileOptions): Compilation {
  const named = member(schema, "$schema");
  const draft = typeof named === "string" ? drafts[named.replace(/#$/u, "")] : undefined;
  const prepared = prepare(schema);
  warnings.length = 0;
  let reason: unknown;
  for (const candidate of draft ? [draft] : (["2020-12", "draft-07"] as const)) {
    try {
      // The type that ajv gives a schema has an index signature that no read-only one fits.
      const validate = validatorFor(candidate, options).compile(prepared as AnySchema);
      return { validate: validate as Compiled, warnings: [...new Set(warnings)] };
    } catch (error) {
      reason ??= error;
    }
  }
  throw reason;
}

function validatorFor(draft: Draft, { hasLibrary }: CompileOptions): Ajv {
  const key = `${draft} ${String(hasLibrary)}`;
  const known = validators.get(key);
  if (known) return known;
  const options = { ...common, useDefaults: !hasLibrary, validateFormats: !hasLibrary };
  const made = draft === "2020-12" ? new Ajv2020(options) : new Ajv(options);
  addFormats.default(made);
  made.addFormat("uint64", { type: "number", validate: (value) => value >= 0 });
  made.addFormat("bigint", true);
  made.addKeyword(convertKeyword);
  validators.set(key, made);
  return made;
}

/**
 * The schema as the validator takes it: the draft is chosen already, wide integers are marked, and
 * a property named `__proto__`, which the validator skips, is a pattern.
 */
function prepare(schema: JsonSchema): JsonSchema {
  return prepareNode(schema, true) as JsonSchema;
}

/** @param isSchema false for an object that holds schemas by name */
function prepareNode(node: JsonValue, isSchema: boolean): JsonValue {
  if (Array.isArray(node)) return node.map((item: JsonValue) => prepareNode(item, isSchema));
  if (!isObject(node)) return node;
  const copy: MutableObject = {};
  for (const [key, inner] of Object.entries(node)) {
    if (isSchema && key === "$schema") continue;
    const isData = isSchema && dataKeywords.has(key);
    setMember(copy, key, isData ? inner : prepareNode(inner, !isSchema || !holders.has(key)));
  }
  if (!isSchema) return copy;
  roundKeywords(copy);
  const mark = member(copy, convertKey) === undefined ? markFor(copy) : undefined;
  if (mark !== undefined) setMember(copy, convertKey, mark);
  return protoAsPattern(copy);
}

/** Keywords whose members are schemas by name. */
const holders = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

function protoAsPattern(schema: MutableObject): JsonSchema {
  const properties = objectMember(schema, "properties");
  const proto = properties && member(properties, "__proto__");
  if (proto === undefined) return schema;
  setMember(schema, "patternProperties", {
    ...objectMember(schema, "patternProperties"),
    "^__proto__$": proto,
  });
  return schema;
}

function note(...parts: unknown[]): void {
  warnings.push(parts.map(String).join(" "));
}
