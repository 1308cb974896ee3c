import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../domain/json.ts";
import { canonicalJsonText, parseJson } from "../internal/json-text.ts";
import { type Failure, failure } from "./describe-error.ts";

/** What reading arguments came to. */
export type ReadArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly failure: Failure };

/** Reads a call's arguments: blank text and `null` are an object without members. */
export function readArguments(text: string): ReadArguments {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null") return { ok: true, value: {} };
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : "they nest too deeply";
    return refuse(`the arguments are not usable JSON: ${why}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return { ok: true, value: value as JsonObject };
  }
  const kind = Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return refuse(`the arguments must be a JSON object, got ${kind}`);
}

/** What makes two requests the same call: SHA-256 over the name and the canonical arguments. */
export function callDigest(name: string, argumentsJson: string): string {
  const trimmed = argumentsJson.trim();
  const canonical = trimmed === "" || trimmed === "null" ? "{}" : canonicalJsonText(argumentsJson);
  const hash = createHash("sha256").update(JSON.stringify(name)).update(canonical);
  return `sha256:${hash.digest("hex")}`;
}

function refuse(sentence: string): ReadArguments {
  return { ok: false, failure: failure("INVALID_ARGUMENTS", sentence) };
}
