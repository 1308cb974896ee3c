import type { ContentPart } from "../domain/call.ts";
import { stringifyWhole } from "../internal/whole-json.ts";
import { describeError, failure, type Failure } from "./describe-error.ts";

/** A tool's result as it travels. */
export interface Rendered {
  readonly result: string;
  readonly structuredJson: string | undefined;
  readonly content: readonly ContentPart[];
}

const marker: unique symbol = Symbol.for("toolport.rendered");

/** A result that is rendered already, such as a mounted server's answer. */
export function settledResult(rendered: Rendered): { readonly [marker]: Rendered } {
  return Object.freeze({ [marker]: rendered });
}

/**
 * Renders what a tool returned: a string as it is, bytes as content with a line that stands for
 * them, anything else as compact JSON, where what has no JSON form at the top is `null`.
 *
 * @returns a failure of kind RESULT_UNSERIALIZABLE for a cycle, for what JSON would write as `{}` though
 *   it holds something (a Map, say), or a getter or `toJSON` that throws
 */
export async function renderResult(toolName: string, value: unknown): Promise<Rendered | Failure> {
  return renderAtOnce(toolName, value) ?? (await renderBlob(toolName, value as Blob));
}

/** As {@link renderResult}, without a turn of the loop; undefined for a Blob, whose bytes take one. */
export function renderAtOnce(toolName: string, value: unknown): Rendered | Failure | undefined {
  if (typeof value === "string") return { result: value, structuredJson: undefined, content: none };
  try {
    if (typeof value === "object" && value !== null) {
      if (marker in value) return value[marker] as Rendered;
      if (value instanceof Blob) return undefined;
      const bytes = asBytes(value);
      if (bytes) return withContent({ mimeType: sniff(bytes), data: bytes });
      const part = contentPart(value);
      if (part) return withContent(part);
    }
    const json = stringifyWhole(value);
    return { result: json, structuredJson: json, content: none };
  } catch (thrown) {
    return unserializable(toolName, thrown);
  }
}

/** The bytes of a Buffer, typed array, DataView or ArrayBuffer; undefined for anything else. */
export function asBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof DataView) {
    return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  }
  return undefined;
}

/**
 * A value that says in so many words that it is content, with a media type and bytes or a URI, as a
 * part of its own: what the tool does to the value afterwards does not change it. Undefined for
 * anything else.
 */
export function contentPart(value: unknown): ContentPart | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { mimeType, data, uri, name } = value as { readonly [Key in keyof ContentPart]?: unknown };
  if (typeof mimeType !== "string" || (name !== undefined && typeof name !== "string")) {
    return undefined;
  }
  const named = name === undefined ? {} : { name };
  if (data instanceof Uint8Array) return { mimeType, data, ...named };
  return typeof uri === "string" ? { mimeType, uri, ...named } : undefined;
}

/** The line that stands in a result's text for a part that text can't carry. */
export function placeholder(part: ContentPart): string {
  const size = part.data === undefined ? part.uri : `${part.data.byteLength} bytes`;
  return `[${[part.name, part.mimeType, size].filter(Boolean).join(", ")}]`;
}

const none: readonly ContentPart[] = Object.freeze([]);

function withContent(part: ContentPart): Rendered {
  return { result: placeholder(part), structuredJson: undefined, content: [part] };
}

async function renderBlob(toolName: string, blob: Blob): Promise<Rendered | Failure> {
  try {
    const data = new Uint8Array(await blob.arrayBuffer());
    const name = "name" in blob && typeof blob.name === "string" ? { name: blob.name } : {};
    return withContent({ mimeType: blob.type || sniff(data), data, ...name });
  } catch (thrown) {
    return unserializable(toolName, thrown);
  }
}

function unserializable(toolName: string, thrown: unknown): Failure {
  return failure(
    "RESULT_UNSERIALIZABLE",
    `the result of ${JSON.stringify(toolName)} has no JSON form (${describeError(thrown).error})`,
  );
}

const signatures: readonly (readonly [string, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
];

function sniff(bytes: Uint8Array): string {
  const found = signatures.find(([, magic]) => magic.every((byte, at) => bytes[at] === byte));
  return found?.[0] ?? "application/octet-stream";
}
