import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { isStandardSchema } from "./standard-schema.ts";

/** A deep copy that is being made; every member of it is its own. */
export interface MutableObject {
  [key: string]: JsonValue;
}

const maxNodes = 200_000;

/**
 * Copies an author's schema as data: own enumerable members only, what has no JSON form left out.
 * Any key is only a key, `__proto__` too.
 *
 * @throws Error in one sentence for a cycle, a value without JSON form in an array, a library's schema
 *   inside a plain object, or a schema of more than 200,000 nodes; and whatever a getter throws
 */
export function copyJson(value: unknown): JsonValue {
  let nodes = 0;
  const open = new Set<object>();

  function copy(node: unknown): JsonValue | undefined {
    nodes += 1;
    if (nodes > maxNodes) throw new Error(`it has more than ${maxNodes} nodes`);
    if (typeof node === "number") return Number.isFinite(node) ? node : undefined;
    if (node === null || ["string", "boolean", "bigint"].includes(typeof node)) {
      return node as JsonValue;
    }
    if (typeof node !== "object") return undefined;
    if (open.has(node)) throw new Error("it contains itself; use a $ref for recursion");
    open.add(node);
    const copied = Array.isArray(node) ? copyArray(node) : copyObject(node);
    open.delete(node);
    return copied;
  }

  function copyArray(node: readonly unknown[]): JsonValue {
    return node.map((item, index) => {
      const copied = copy(item);
      if (copied === undefined) throw new Error(`the item ${index} of an array has no JSON form`);
      return copied;
    });
  }

  function copyObject(node: object): JsonValue {
    const copied: MutableObject = {};
    for (const [key, inner] of Object.entries(node)) {
      if (isStandardSchema(inner)) {
        throw new Error(
          `${JSON.stringify(key)} is a schema of ${inner["~standard"].vendor} in a plain object; make the whole of it with ${inner["~standard"].vendor}, such as z.object({ ... })`,
        );
      }
      const innerCopy = copy(inner);
      if (innerCopy !== undefined) setMember(copied, key, innerCopy);
    }
    return copied;
  }

  const whole = copy(value);
  if (whole === undefined) throw new Error("it has no JSON form");
  return whole;
}

/** Sets a member whatever its key; a plain assignment of `__proto__` would not. */
export function setMember(object: MutableObject, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own member; undefined where there is none, whatever the prototype has. */
export function member(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** An own member that is an object. */
export function objectMember(object: JsonObject, key: string): JsonObject | undefined {
  const value = member(object, key);
  return isObject(value) ? value : undefined;
}

/** An own member that is a list; empty where it is none. */
export function listMember(object: JsonObject, key: string): readonly JsonValue[] {
  const value = member(object, key);
  return Array.isArray(value) ? value : [];
}

/** Freezes a copy all the way down. */
export function deepFreeze<T extends JsonValue>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

/** Follows a JSON Pointer reference (`#`, `#/$defs/a`) within a document. */
export function resolvePointer(root: JsonSchema, ref: string): JsonValue | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let node: JsonValue | undefined = root;
  for (const token of ref.slice(2).split("/")) {
    const key = safeDecode(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(node)) node = (node as readonly JsonValue[])[Number(key)];
    else node = isObject(node) ? member(node, key) : undefined;
  }
  return node;
}

function safeDecode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
