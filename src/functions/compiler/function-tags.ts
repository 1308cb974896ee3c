import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { readTraits } from "../../registry/tool-options.ts";
import type { DocTag } from "./doc-comment.ts";
import { schemaTagNames } from "./schema-tags.ts";

const flags = ["idempotent", "readOnly", "destructive", "openWorld", "runAware"];
const words = ["category", "safetyLevel", "scope", "routingMode", "requires", "largeResults"];
const numbers = ["costUsd", "maxCallsPerInvocation", "timeoutMs", "maxTimeoutMs", "concurrency"];

/** The tags that say something of a function. */
export const traitTagNames: ReadonlySet<string> = new Set([
  ...flags,
  ...words,
  ...numbers,
  "hidden",
  "isolate",
]);

/** Tags that other tools read; they say nothing here. */
const foreign = new Set(
  (
    "param arg argument returns return yields yield throws exception template typeParam type typedef callback " +
    "property prop remarks privateRemarks see link since version author license copyright todo fixme summary " +
    "internal public private protected alpha beta experimental async generator function export override " +
    "satisfies readonly inheritDoc packageDocumentation module file fileoverview this class abstract virtual " +
    "sealed eventProperty decorator import overload category group eslint ts-expect-error ts-ignore"
  ).split(" "),
);

/**
 * The traits that a function's tags state.
 *
 * @param warn takes a sentence for a tag that is malformed
 */
export function readTraitTags(
  tags: readonly DocTag[],
  warn: (sentence: string) => void,
): JsonObject {
  const stated: Record<string, JsonValue> = {};
  for (const { name, text, place } of tags) {
    if (!traitTagNames.has(name)) continue;
    const [trait, value] = traitOf(name, text);
    try {
      Object.assign(stated, readTraits(`${place}: @${name}`, { [trait]: value }));
    } catch (error) {
      warn(error instanceof Error ? error.message : String(error));
    }
  }
  return stated;
}

function traitOf(name: string, text: string): readonly [string, JsonValue] {
  if (name === "hidden") return ["visibility", text === "false" ? "visible" : "hidden"];
  if (name === "isolate") return ["isolate", text === "" ? "worker" : text];
  // Whatever else stands there is a remark: a destructive tool stays one.
  if (flags.includes(name)) return [name, text !== "false"];
  if (numbers.includes(name)) return [name, text === "" ? text : Number(text)];
  return [name, text];
}

/** Warns of tags that nothing reads where they stand. */
export function warnOfTags(
  tags: readonly DocTag[],
  isFunction: boolean,
  warn: (sentence: string) => void,
): void {
  for (const { name, place } of tags) {
    if (isFunction ? traitTagNames.has(name) : schemaTagNames.has(name)) continue;
    if (isFunction && (name === "example" || name === "deprecated")) continue;
    if (schemaTagNames.has(name)) {
      warn(`${place}: @${name} says something of a value: put it at a parameter or a property`);
    } else if (traitTagNames.has(name) && !foreign.has(name)) {
      warn(`${place}: @${name} says something of a function: put it at the function`);
    } else if (!foreign.has(name)) {
      warn(`${place}: the tag @${name} is not known`);
    }
  }
}
