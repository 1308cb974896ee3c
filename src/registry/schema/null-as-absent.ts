import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { isObject, listMember, member, objectMember, resolvePointer } from "./json-copy.ts";

/**
 * Removes members that are null where the schema declares them, does not require them and does not
 * allow null. Models in strict mode send every key, so null is their word for absent.
 *
 * @param value the call's own copy; changed in place
 */
export function dropNulls(value: JsonValue, root: JsonSchema): void {
  visit(value, expand([root], root), root);
}

function visit(value: JsonValue, schemas: readonly JsonObject[], root: JsonSchema): void {
  if (schemas.length === 0) return;
  if (Array.isArray(value)) {
    value.forEach((item: JsonValue, index) => visit(item, itemSchemas(schemas, index, root), root));
    return;
  }
  if (!isObject(value)) return;
  const fitting = variantsOf(value, schemas);
  for (const [key, inner] of Object.entries(value)) {
    const declared = memberSchemas(fitting, key, root);
    if (inner !== null) visit(inner, expand(declared, root), root);
    else if (isOptionalAndNotNull(key, declared, fitting, root)) {
      Reflect.deleteProperty(value, key);
    }
  }
}

function isOptionalAndNotNull(
  key: string,
  declared: readonly JsonValue[],
  schemas: readonly JsonObject[],
  root: JsonSchema,
): boolean {
  return (
    declared.length > 0 &&
    !schemas.some((schema) => listMember(schema, "required").includes(key)) &&
    !declared.some((schema) => allowsNull(schema, root, 0))
  );
}

/** Schemas with their references, conjunctions and alternatives laid open. */
function expand(schemas: readonly JsonValue[], root: JsonSchema): readonly JsonObject[] {
  const open = new Set<JsonObject>();
  const add = (schema: JsonValue | undefined): void => {
    if (!isObject(schema) || open.has(schema)) return;
    open.add(schema);
    const ref = member(schema, "$ref");
    if (typeof ref === "string") add(resolvePointer(root, ref));
    for (const key of ["allOf", "anyOf", "oneOf"]) listMember(schema, key).forEach(add);
    add(member(schema, "then"));
    add(member(schema, "else"));
  };
  schemas.forEach(add);
  return [...open];
}

/** Leaves out the alternatives that a constant member of theirs rules out for this value. */
function variantsOf(value: JsonObject, schemas: readonly JsonObject[]): readonly JsonObject[] {
  const fitting = schemas.filter((schema) =>
    Object.entries(objectMember(schema, "properties") ?? {}).every(([key, declared]) => {
      const constant = isObject(declared) ? member(declared, "const") : undefined;
      const given = member(value, key);
      return constant === undefined || given === undefined || given === constant;
    }),
  );
  return fitting.length > 0 ? fitting : schemas;
}

function memberSchemas(
  schemas: readonly JsonObject[],
  key: string,
  root: JsonSchema,
): readonly JsonValue[] {
  const found: JsonValue[] = [];
  for (const schema of schemas) {
    const declared = member(objectMember(schema, "properties") ?? {}, key);
    if (declared !== undefined) found.push(declared);
  }
  // Only a key with a name of its own can be optional; free-form ones are left as they are.
  return expand(found, root).length > 0 ? found : [];
}

function itemSchemas(
  schemas: readonly JsonObject[],
  index: number,
  root: JsonSchema,
): readonly JsonObject[] {
  const found: JsonValue[] = [];
  for (const schema of schemas) {
    const items = member(schema, "items");
    const tuple = Array.isArray(items)
      ? (items as readonly JsonValue[])
      : listMember(schema, "prefixItems");
    const declared = tuple[index] ?? (Array.isArray(items) ? undefined : items);
    if (declared !== undefined) found.push(declared);
  }
  return expand(found, root);
}

const maxDepth = 64;

function allowsNull(schema: JsonValue, root: JsonSchema, depth: number): boolean {
  if (!isObject(schema) || depth > maxDepth) return schema !== false;
  const inner = (one: JsonValue): boolean => allowsNull(one, root, depth + 1);
  const ref = member(schema, "$ref");
  if (typeof ref === "string") {
    const target = resolvePointer(root, ref);
    if (target !== undefined && !inner(target)) return false;
  }
  const type = member(schema, "type");
  if (typeof type === "string" && type !== "null" && member(schema, "nullable") !== true) {
    return false;
  }
  if (Array.isArray(type) && !type.includes("null")) return false;
  if (Object.hasOwn(schema, "const") && member(schema, "const") !== null) return false;
  if (Object.hasOwn(schema, "enum") && !listMember(schema, "enum").includes(null)) return false;
  for (const key of ["anyOf", "oneOf"]) {
    const variants = listMember(schema, key);
    if (variants.length > 0 && !variants.some(inner)) return false;
  }
  return listMember(schema, "allOf").every(inner);
}
