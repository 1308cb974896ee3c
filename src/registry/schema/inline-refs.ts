import type { JsonObject, JsonSchema, JsonValue } from "../../domain/json.ts";
import { isObject, member, type MutableObject, resolvePointer, setMember } from "./json-copy.ts";

const definitionKeys = ["$defs", "definitions"] as const;
const maxNodes = 200_000;

/**
 * Writes out every `$ref` of a document that is not recursive, and drops the definitions that are
 * not referred to any more. Model providers and strict clients don't follow references; a
 * recursive one can't be written out and stays, valid from the document's root.
 *
 * Members beside a `$ref` win over those of its target.
 *
 * @throws Error in one sentence where the document would grow beyond 200,000 nodes
 */
export function inlineRefs(root: JsonSchema): JsonSchema {
  const recursive = findRecursive(root);
  const kept = new Set<string>();
  let nodes = 0;

  function inline(node: JsonValue): JsonValue {
    nodes += 1;
    if (nodes > maxNodes) throw new Error(`it has more than ${maxNodes} nodes when written out`);
    if (Array.isArray(node)) return node.map((item: JsonValue) => inline(item));
    if (!isObject(node)) return node;
    const ref = member(node, "$ref");
    if (typeof ref === "string") {
      const target = resolvePointer(root, ref);
      if (recursive.has(ref) || !isObject(target)) kept.add(ref);
      else return inline({ ...target, ...withoutRef(node) });
    }
    return mapMembers(node, inline);
  }

  const result: MutableObject = {};
  for (const [key, value] of Object.entries(rootTarget(root))) {
    if (!isDefinitions(key)) setMember(result, key, inline(value));
  }
  // A kept definition may itself keep others, so go on until nothing new turns up.
  for (const done = new Set<string>(); done.size < kept.size;) {
    for (const ref of kept) {
      if (!done.has(ref)) keepDefinition(result, root, ref, inline);
      done.add(ref);
    }
  }
  return result;
}

/** The root itself, or what its own `$ref` names with the definitions beside it. */
function rootTarget(root: JsonSchema): JsonObject {
  const ref = member(root, "$ref");
  const target = typeof ref === "string" ? resolvePointer(root, ref) : undefined;
  return isObject(target) && target !== root ? { ...target, ...withoutRef(root) } : root;
}

function keepDefinition(
  result: MutableObject,
  root: JsonSchema,
  ref: string,
  inline: (node: JsonValue) => JsonValue,
): void {
  const [, holder, name] = /^#\/(\$defs|definitions)\/([^/]+)$/u.exec(ref) ?? [];
  const target = resolvePointer(root, ref);
  if (holder === undefined || name === undefined || !isObject(target)) return;
  const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
  const definitions = (member(result, holder) ?? {}) as MutableObject;
  setMember(definitions, key, mapMembers(target, inline));
  setMember(result, holder, definitions);
}

/** The references that lead back to themselves. */
function findRecursive(root: JsonSchema): ReadonlySet<string> {
  const recursive = new Set<string>(["#"]);
  const done = new Set<string>();

  function walk(node: JsonValue, path: readonly string[]): void {
    if (Array.isArray(node)) return node.forEach((item: JsonValue) => walk(item, path));
    if (!isObject(node)) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "$ref" && typeof value === "string") follow(value, path);
      else walk(value, path);
    }
  }

  function follow(ref: string, path: readonly string[]): void {
    const at = path.indexOf(ref);
    if (at >= 0) {
      for (const part of path.slice(at)) recursive.add(part);
      return;
    }
    if (done.has(ref)) return;
    const target = resolvePointer(root, ref);
    if (target !== undefined) walk(target, [...path, ref]);
    done.add(ref);
  }

  walk(root, []);
  return recursive;
}

function withoutRef(node: JsonObject): JsonObject {
  const rest: MutableObject = {};
  for (const [key, value] of Object.entries(node)) if (key !== "$ref") setMember(rest, key, value);
  return rest;
}

function mapMembers(node: JsonObject, map: (value: JsonValue) => JsonValue): JsonObject {
  const mapped: MutableObject = {};
  for (const [key, value] of Object.entries(node)) setMember(mapped, key, map(value));
  return mapped;
}

function isDefinitions(key: string): boolean {
  return (definitionKeys as readonly string[]).includes(key);
}
