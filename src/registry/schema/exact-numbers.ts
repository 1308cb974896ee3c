import type { JsonValue } from "../../domain/json.ts";
import { isObject, member, type MutableObject, objectMember, setMember } from "./json-copy.ts";

/** Keywords whose values are data, not schemas. */
export const dataKeywords: ReadonlySet<string> = new Set(["default", "const", "enum", "examples"]);

/** Holds, beside a node's rounded keywords, what those that have wide integers say exactly. */
const exactKey = "x-toolport-exact";

/**
 * Rounds, in place, the integers beyond 2^53 of a node's own keywords, since the validator knows
 * doubles alone. What they were is kept beside them: see {@link exactly}.
 */
export function roundKeywords(node: MutableObject): void {
  const exact: MutableObject = {};
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== "bigint" && !dataKeywords.has(key)) continue;
    const rounded = round(value);
    if (rounded === value) continue;
    setMember(exact, key, value);
    setMember(node, key, rounded);
  }
  if (Object.keys(exact).length > 0) setMember(node, exactKey, exact);
}

/** A keyword of a node as its author wrote it. */
export function exactly(node: MutableObject, key: string): JsonValue | undefined {
  const exact = objectMember(node, exactKey);
  return (exact && member(exact, key)) ?? member(node, key);
}

/** The same value where there is nothing to round. */
function round(value: JsonValue): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map(round);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const copy: MutableObject = {};
  let isChanged = false;
  for (const [key, inner] of Object.entries(value)) {
    const rounded = round(inner);
    isChanged ||= rounded !== inner;
    setMember(copy, key, rounded);
  }
  return isChanged ? copy : value;
}
