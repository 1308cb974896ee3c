import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { parseJson } from "../../internal/json-text.ts";
import { fits, typeKey } from "../../registry/schema/derived-values.ts";
import type { DocTag } from "./doc-comment.ts";
import { branchesOf, type SchemaNode } from "./schema-node.ts";

type Kind = "number" | "string" | "array" | "object";

interface Rule {
  /** What it says something about; absent: any value. */
  readonly kind?: Kind;
  /** The values that it takes, in words. */
  readonly takes: string;
  /** Reads its text; undefined where that is malformed. */
  read(text: string, node: SchemaNode, root: JsonObject): JsonValue | undefined;
}

const number: Rule = { kind: "number", takes: "a number", read: readNumber };
const count = (kind: Kind): Rule => ({ kind, takes: "a whole number", read: readCount });

const rules: Readonly<Record<string, Rule>> = {
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: {
    ...number,
    takes: "a number above 0",
    read: (text) => {
      const value = readNumber(text);
      return value !== undefined && value > 0 ? value : undefined;
    },
  },
  integer: { kind: "number", takes: "no value", read: (text) => text === "" || undefined },
  minLength: count("string"),
  maxLength: count("string"),
  pattern: { kind: "string", takes: "a regular expression", read: readPattern },
  format: { kind: "string", takes: "the name of a format", read: readWord },
  minItems: count("array"),
  maxItems: count("array"),
  uniqueItems: { kind: "array", takes: "no value", read: (text) => text === "" || undefined },
  minProperties: count("object"),
  maxProperties: count("object"),
  title: { takes: "text", read: (text) => text || undefined },
  default: { takes: "a value of its type, as JSON", read: readValue },
  example: { takes: "a value of its type, as JSON", read: readValue },
  deprecated: { takes: "text, or nothing", read: () => true },
};

const otherNames: Readonly<Record<string, string>> = {
  defaultValue: "default",
  examples: "example",
};

/** The tags that say something of a value; they are tags also within a line. */
export const schemaTagNames: ReadonlySet<string> = new Set([
  ...Object.keys(rules),
  ...Object.keys(otherNames),
]);

/** The formats that are checked. */
const formats = new Set(
  (
    "date time date-time iso-time iso-date-time duration uri uri-reference uri-template url email " +
    "hostname ipv4 ipv6 regex uuid json-pointer relative-json-pointer byte password binary"
  ).split(" "),
);

/**
 * Applies tags to a node, each to those of its alternatives that it says something about.
 *
 * @param warn takes a sentence for a tag that is malformed or says nothing about the node's type
 */
export function applyTags(
  node: SchemaNode,
  tags: readonly DocTag[],
  root: JsonObject,
  warn: (sentence: string) => void,
): SchemaNode {
  let tagged = node;
  for (const tag of tags) {
    const name = otherNames[tag.name] ?? tag.name;
    const rule = rules[name];
    if (!rule) continue;
    const value = rule.read(tag.text, tagged, root);
    if (value === undefined) {
      warn(`${tag.place}: @${tag.name} takes ${rule.takes}, got ${JSON.stringify(tag.text)}`);
      continue;
    }
    if (name === "format" && typeof value === "string" && !formats.has(value)) {
      warn(`${tag.place}: @format ${value} is advertised and not checked: no such format is known`);
    }
    const changed = apply(tagged, name, value, rule.kind);
    if (changed) tagged = changed;
    else warn(`${tag.place}: @${tag.name} says nothing about a type that is no ${rule.kind}`);
  }
  return tagged;
}

function apply(
  node: SchemaNode,
  name: string,
  value: JsonValue,
  kind: Kind | undefined,
): SchemaNode | undefined {
  if (kind === undefined) return stated(node, name, value);
  const { anyOf } = node;
  if (Array.isArray(anyOf)) {
    let hasOne = false;
    const branches = (anyOf as readonly SchemaNode[]).map((branch) => {
      const changed = apply(branch, name, value, kind);
      hasOne ||= changed !== undefined;
      return changed ?? branch;
    });
    return hasOne ? { ...node, anyOf: branches } : undefined;
  }
  return isOf(node, kind) ? stated(node, name, value) : undefined;
}

function isOf(node: SchemaNode, kind: Kind): boolean {
  const { type } = node;
  const mark = node[typeKey];
  if (kind === "number") return type === "number" || type === "integer" || mark === "digits";
  return type === kind && (kind !== "string" || mark === undefined);
}

function stated(node: SchemaNode, name: string, value: JsonValue): SchemaNode {
  if (name === "integer") return node[typeKey] === undefined ? { ...node, type: "integer" } : node;
  if (name === "example") {
    const before = (node["examples"] ?? []) as readonly JsonValue[];
    return { ...node, examples: [...before, value] };
  }
  return { ...node, [name]: value };
}

/** A bound of a bigint may be wider than a number is exact. */
function readNumber(text: string): number | bigint | undefined {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return undefined;
  return /^-?\d+$/u.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

function readCount(text: string): number | undefined {
  return /^\d{1,9}$/u.test(text) ? Number(text) : undefined;
}

function readWord(text: string): string | undefined {
  return /^\S+$/u.test(text) ? text : undefined;
}

function readPattern(text: string): string | undefined {
  const source = /^\/(.+)\/u?$/u.exec(text)?.[1] ?? text;
  try {
    return source === "" ? undefined : new RegExp(source, "u").source;
  } catch {
    return undefined;
  }
}

/** A value as JSON, or as bare text where the type takes text. */
function readValue(text: string, node: SchemaNode, root: JsonObject): JsonValue | undefined {
  const document = { ...root, ...node };
  for (const value of candidates(text, node)) if (fits(value, node, document)) return value;
  return undefined;
}

function* candidates(text: string, node: SchemaNode): Generator<JsonValue> {
  try {
    yield parseJson(text);
  } catch {
    const quoted = /^(['"`])([\s\S]*)\1$/u.exec(text)?.[2];
    if (quoted !== undefined) yield quoted;
  }
  const takesText = branchesOf(node).some(({ type, enum: allowed, const: only }) =>
    [
      type,
      typeof only,
      ...(Array.isArray(allowed) ? allowed.map((one) => typeof one) : []),
    ].includes("string"),
  );
  if (takesText && text !== "") yield text;
}
