import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import type { ArgumentCheck } from "../../domain/tool.ts";
import { ConfigurationError } from "../../errors.ts";
import { show } from "../show.ts";
import { checkWith, type LibraryCheck } from "./check.ts";
import { type Compilation, compile } from "./compile.ts";
import { isDerivedParameters, readDerived } from "./derived-schema.ts";
import { copyJson, deepFreeze, isObject, listMember, member, resolvePointer } from "./json-copy.ts";
import { optionsOf } from "./library-options.ts";
import { describeInput, withoutMarks } from "./library-schema.ts";
import { isStandardSchema } from "./standard-schema.ts";
import { describeZod3, isZod3Schema, parseWithZod3 } from "./zod3.ts";

/** A tool's arguments: what is advertised, and the check that goes with it. */
export interface ArgumentSchema {
  readonly schema: JsonSchema;
  /** Whether it says that it takes arguments of any name. */
  readonly isOpen: boolean;
  readonly check: (args: JsonObject) => ArgumentCheck | Promise<ArgumentCheck>;
  /** What the author should know, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Reads a tool's `parameters` in any of their forms.
 *
 * @throws ConfigurationError in one sentence without a subject, such as "its parameters are 42 …"
 */
export function readParameters(parameters: unknown): ArgumentSchema {
  if (parameters === undefined || parameters === null) return fromJsonSchema({});
  if (isDerivedParameters(parameters)) {
    const { schema, check } = readDerived(parameters.schema);
    return { schema, isOpen: isCatchAll(schema), check, warnings: parameters.warnings };
  }
  if (isZod3Schema(parameters)) {
    return fromLibrary(describeZod3(parameters), (value) => parseWithZod3(parameters, value));
  }
  if (isStandardSchema(parameters)) {
    const { validate } = parameters["~standard"];
    return fromLibrary(describeInput(parameters), (value) => validate(value));
  }
  if (!isObject(parameters)) {
    throw new ConfigurationError(
      `its parameters are ${show(parameters)}: expected a schema whose root is an object`,
    );
  }
  return fromJsonSchema(copyJson(parameters) as JsonObject);
}

/** Reads a tool's `output` schema; a library's is described by its output side. */
export function readOutput(output: unknown): JsonSchema | null {
  if (output === undefined || output === null) return null;
  if (isZod3Schema(output)) return deepFreeze(withoutMarks(describeZod3(output).schema));
  if (isStandardSchema(output)) {
    const { jsonSchema, vendor } = output["~standard"];
    const described = jsonSchema?.output({
      target: "draft-2020-12",
      libraryOptions: optionsOf(vendor, []),
    });
    if (described !== undefined) {
      return deepFreeze(withoutMarks(copyJson(described))) as JsonSchema;
    }
  } else if (isObject(output)) {
    return deepFreeze(copyJson(output)) as JsonSchema;
  }
  throw new ConfigurationError(`its output is ${show(output)}: expected a schema`);
}

function fromJsonSchema(given: JsonObject): ArgumentSchema {
  const schema = deepFreeze(withObjectRoot(given));
  let compilation: Compilation;
  try {
    compilation = compile(schema, { hasLibrary: false });
  } catch (error) {
    if (!isUnknownDraft(schema)) {
      throw new ConfigurationError(`its parameters are no valid JSON Schema: ${textOf(error)}`, {
        cause: error,
      });
    }
    const open = compile({ type: "object" }, { hasLibrary: false });
    const warning = `its parameters are not checked, since their $schema is not known and they can't be read: ${textOf(error)}`;
    return { schema, isOpen: true, check: checkWith(open.validate, schema), warnings: [warning] };
  }
  const { validate, warnings } = compilation;
  const isOpen = isCatchAll(schema);
  return { schema, isOpen, check: checkWith(validate, schema), warnings };
}

function fromLibrary(
  described: { readonly schema: JsonSchema; readonly warnings: readonly string[] },
  library: LibraryCheck,
): ArgumentSchema {
  const marked = withObjectRoot(described.schema);
  const schema = deepFreeze(withoutMarks(marked));
  const isOpen = isCatchAll(schema);
  try {
    const { validate, warnings } = compile(marked, { hasLibrary: true });
    return {
      schema,
      isOpen,
      check: checkWith(validate, schema, library),
      warnings: [...described.warnings, ...warnings],
    };
  } catch (error) {
    const warning = `its parameters are checked by their library alone, since their JSON Schema can't be read: ${textOf(error)}`;
    const open = compile({ type: "object" }, { hasLibrary: true });
    return {
      schema,
      isOpen,
      check: checkWith(open.validate, schema, library),
      warnings: [...described.warnings, warning],
    };
  }
}

const combinators = ["$ref", "anyOf", "oneOf", "allOf"] as const;

/**
 * The same schema with a root that says `type: "object"`.
 *
 * @throws ConfigurationError where the root describes something else
 */
function withObjectRoot(schema: JsonObject): JsonSchema {
  if (!mayBeObject(schema, schema, 0)) {
    throw new ConfigurationError(
      `its parameters describe ${describeType(schema)}: expected a schema whose root is an object`,
    );
  }
  const needsProperties = ![
    ...combinators,
    "properties",
    "patternProperties",
    "additionalProperties",
  ].some((key) => Object.hasOwn(schema, key));
  const root: JsonObject = { ...schema, type: "object" };
  return needsProperties ? { ...root, properties: {} } : root;
}

const maxDepth = 64;

function mayBeObject(schema: JsonValue, root: JsonSchema, depth: number): boolean {
  if (!isObject(schema) || depth > maxDepth) return schema !== false;
  const inner = (one: JsonValue): boolean => mayBeObject(one, root, depth + 1);
  const type = member(schema, "type");
  if (typeof type === "string") return type === "object";
  if (Array.isArray(type)) return type.includes("object");
  const ref = member(schema, "$ref");
  const target = typeof ref === "string" ? resolvePointer(root, ref) : undefined;
  if (target !== undefined && !inner(target)) return false;
  for (const key of ["anyOf", "oneOf"]) {
    const variants = listMember(schema, key);
    if (variants.length > 0 && !variants.some(inner)) return false;
  }
  return listMember(schema, "allOf").every(inner);
}

function isCatchAll(schema: JsonSchema): boolean {
  const rest = member(schema, "additionalProperties");
  return rest !== undefined && rest !== false;
}

function describeType(schema: JsonObject): string {
  const type = member(schema, "type");
  return type === undefined ? "no object" : `type ${JSON.stringify(type)}`;
}

function isUnknownDraft(schema: JsonSchema): boolean {
  const named = member(schema, "$schema");
  return (
    typeof named === "string" &&
    !/json-schema\.org\/(draft\/2020-12|draft-0[67])\/schema/u.test(named)
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
