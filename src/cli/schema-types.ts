import type { JsonObject, JsonValue } from "../domain/json.ts";

const maxDepth = 32;

/**
 * The part of a JSON Schema that describes the value at a path; undefined where it says nothing of
 * it. A number in the path stands for a list's items.
 *
 * @param root where the schema's `$ref`s lead; the schema itself by default
 */
export function schemaAt(
  schema: JsonObject,
  path: readonly string[],
  root: JsonObject = schema,
): JsonValue | undefined {
  let at: JsonValue | undefined = schema;
  for (const part of path) at = step(at, part, root, 0);
  return at;
}

/** The JSON Schema types that a value may have; empty where the schema leaves it open. */
export function typesOf(
  schema: JsonValue | undefined,
  root: JsonObject,
  depth = 0,
): ReadonlySet<string> {
  const none: ReadonlySet<string> = new Set();
  const node = objectOf(schema);
  if (!node || depth > maxDepth) return none;
  const type = node["type"];
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((item) => typeof item === "string"));
  if (typeof node["$ref"] === "string") return typesOf(follow(node["$ref"], root), root, depth + 1);
  if ("const" in node) return new Set([typeOf(node["const"])]);
  if (Array.isArray(node["enum"])) return new Set(node["enum"].map(typeOf));
  for (const key of ["anyOf", "oneOf"]) {
    const options = node[key];
    if (!Array.isArray(options)) continue;
    const each = options.map((option) => typesOf(option as JsonValue, root, depth + 1));
    // One open option leaves the whole open.
    return each.some((types) => types.size === 0)
      ? none
      : new Set(each.flatMap((types) => [...types]));
  }
  const all = node["allOf"];
  if (!Array.isArray(all)) return none;
  return (
    all
      .map((part) => typesOf(part as JsonValue, root, depth + 1))
      .find((types) => types.size > 0) ?? none
  );
}

function step(
  schema: JsonValue | undefined,
  part: string,
  root: JsonObject,
  depth: number,
): JsonValue | undefined {
  const node = objectOf(schema);
  if (!node || depth > maxDepth) return undefined;
  const properties = objectOf(node["properties"]);
  if (properties && Object.hasOwn(properties, part)) return properties[part];
  if (/^\d+$/u.test(part) && node["items"] !== undefined) return node["items"];
  if (typeof node["$ref"] === "string")
    return step(follow(node["$ref"], root), part, root, depth + 1);
  for (const key of ["allOf", "anyOf", "oneOf"]) {
    const options = node[key];
    if (!Array.isArray(options)) continue;
    for (const option of options) {
      const found = step(option as JsonValue, part, root, depth + 1);
      if (found !== undefined) return found;
    }
  }
  const rest = objectOf(node["additionalProperties"]);
  return rest && Object.keys(rest).length > 0 ? rest : undefined;
}

/** Where a `$ref` within the document leads. */
function follow(ref: string, root: JsonObject): JsonValue | undefined {
  if (!ref.startsWith("#")) return undefined;
  let at: JsonValue | undefined = root;
  for (const raw of ref.split("/").slice(1)) {
    const part = decodeURIComponent(raw).replaceAll("~1", "/").replaceAll("~0", "~");
    const node = objectOf(at);
    at = node && Object.hasOwn(node, part) ? node[part] : undefined;
  }
  return at;
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "integer";
  return typeof value;
}
