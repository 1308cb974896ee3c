import type { JsonValue } from "../../domain/json.ts";
import { typeKey } from "../../registry/schema/derived-values.ts";
import { Inexpressible } from "./inexpressible.ts";

/** A schema that is being built. */
export interface SchemaNode {
  [keyword: string]: JsonValue;
}

/** The alternatives that a node consists of: itself, where it is no union. */
export function branchesOf(node: SchemaNode): readonly SchemaNode[] {
  const { anyOf } = node;
  return Array.isArray(anyOf) ? (anyOf as readonly SchemaNode[]).flatMap(branchesOf) : [node];
}

/** One node for several alternatives, each once. Texts of another type's go after plain ones. */
export function unionOf(nodes: readonly SchemaNode[]): SchemaNode {
  const unique = new Map<string, SchemaNode>();
  for (const node of nodes.flatMap((one) => (isBareUnion(one) ? branchesOf(one) : [one]))) {
    const key = JSON.stringify(node, (_key, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
    if (!unique.has(key)) unique.set(key, node);
  }
  const [first, ...rest] = [...unique.values()].toSorted((a, b) => rank(a) - rank(b));
  if (!first) throw new Inexpressible("which no value has");
  return rest.length === 0 ? first : { anyOf: [first, ...rest] };
}

function isBareUnion(node: SchemaNode): boolean {
  return Array.isArray(node["anyOf"]) && Object.keys(node).length === 1;
}

/** Where a union has both, a text stays a text, and null comes last. */
function rank(node: SchemaNode): number {
  if (node["type"] === "null") return 2;
  return node[typeKey] === undefined ? 0 : 1;
}

/** Literals as one node. */
export function literalsOf(values: readonly (string | number | boolean | null)[]): SchemaNode {
  const types = [...new Set(values.map((value) => (value === null ? "null" : typeof value)))];
  const type = types.length === 1 ? { type: types[0] as string } : {};
  return values.length === 1
    ? { ...type, const: values[0] as JsonValue }
    : { ...type, enum: [...values] };
}

/** A bigint: an integer of 64 bits, or text of any number of digits. */
export function bigintNode(values?: readonly bigint[]): SchemaNode {
  const text = { type: "string", pattern: "^-?[0-9]+$", [typeKey]: "digits" };
  const number = { type: "integer", format: "int64", [typeKey]: "bigint" };
  if (!values) return { anyOf: [number, text] };
  const small = values.map((value) =>
    Number.isSafeInteger(Number(value)) ? Number(value) : value,
  );
  return {
    anyOf: [
      { ...number, enum: small },
      { ...text, enum: values.map(String) },
    ],
  };
}

/** Puts texts around a node; what it says already stays where it says more. */
export function described(node: SchemaNode, description: string): SchemaNode {
  return description === "" ? node : { ...node, description };
}

/** A copy without the members that are undefined. */
export function compact(node: Readonly<Record<string, JsonValue | undefined>>): SchemaNode {
  return Object.fromEntries(
    Object.entries(node).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
