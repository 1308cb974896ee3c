import type { JsonObject, JsonSchema, JsonValue } from "../../../src/domain/json.ts";
import { fits } from "../../../src/registry/schema/derived-values.ts";

/**
 * Writes out, in place, what may be absent and is: TypeScript asks for the key of
 * `{ a: number | undefined }`, whose value JSON can only leave out.
 *
 * @param value what the function is given for `given`
 */
export function withAbsent<T>(value: T, given: JsonObject, root: JsonSchema): T {
  fill(value, given, root, root);
  return value;
}

function fill(value: unknown, given: JsonValue, node: JsonValue, root: JsonSchema): void {
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === null;
  if (!isPlain || typeof given !== "object" || given === null) return;
  const schema = branchOf(given, node, root);
  if (!schema) return;
  const holder = value as Record<string, unknown>;
  const inner = given as JsonObject;
  for (const key of Object.keys(holder)) {
    fill(holder[key], inner[key] ?? null, partOf(schema, key, Array.isArray(value)), root);
  }
  if (Array.isArray(value)) return;
  const required = (schema["required"] ?? []) as readonly string[];
  for (const key of Object.keys((schema["properties"] ?? {}) as JsonObject)) {
    if (!(key in holder) && !required.includes(key)) holder[key] = undefined;
  }
}

/** The branch of a schema that a value belongs to. */
function branchOf(given: JsonValue, node: JsonValue, root: JsonSchema): JsonObject | undefined {
  if (typeof node !== "object" || node === null) return undefined;
  const schema = node as JsonObject;
  if (typeof schema["$ref"] === "string") {
    const name = schema["$ref"].slice("#/$defs/".length);
    return branchOf(given, (root["$defs"] as JsonObject)[name] ?? null, root);
  }
  const branches = schema["anyOf"] as readonly JsonValue[] | undefined;
  if (!branches) return schema;
  const own = branches.find((one) => fits(given, one, root));
  return own === undefined ? undefined : branchOf(given, own, root);
}

function partOf(schema: JsonObject, key: string, isItem: boolean): JsonValue {
  if (isItem) {
    const prefix = (schema["prefixItems"] ?? []) as readonly JsonValue[];
    return prefix[Number(key)] ?? schema["items"] ?? null;
  }
  const declared = (schema["properties"] ?? {}) as JsonObject;
  return declared[key] ?? schema["additionalProperties"] ?? null;
}
