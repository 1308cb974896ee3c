import type { ContentPart } from "../domain/call.ts";
import type { JsonObject, JsonValue } from "../domain/json.ts";
import { SettledFailure } from "../execution/describe-error.ts";
import { placeholder, settledResult } from "../execution/render-result.ts";
import { stringifyJson } from "../internal/json-text.ts";

/**
 * Makes a tool's result of a server's answer: every content item in order, texts as they are and a
 * line for what text can't carry; structured content beside it, or as the text where there is none.
 *
 * @throws SettledFailure with the server's own text where the answer says that the call failed
 */
export function renderAnswer(server: string, answer: JsonObject): unknown {
  const { content: items, structuredContent, isError } = answer;
  const read = (Array.isArray(items) ? (items as readonly JsonValue[]) : []).map(readItem);
  const structuredJson =
    structuredContent === undefined ? undefined : stringifyJson(structuredContent);
  const text = read.map((item) => item.text).join("\n");
  const isSilent = isError === true ? text.trim() === "" : read.length === 0;
  const result = isSilent ? (structuredJson ?? "") : text;
  if (isError === true) {
    throw new SettledFailure(
      "RAISED",
      result === ""
        ? `the MCP server ${JSON.stringify(server)} says that the call failed, and not why`
        : result,
    );
  }
  return settledResult({
    result,
    structuredJson,
    content: Object.freeze(read.flatMap(({ part }) => part ?? [])),
  });
}

interface ReadItem {
  readonly text: string;
  readonly part?: ContentPart;
}

function readItem(item: JsonValue): ReadItem {
  const fields = asObject(item);
  switch (fields?.["type"]) {
    case "text":
      return typeof fields["text"] === "string" ? { text: fields["text"] } : asJson(item);
    case "image":
    case "audio":
      return typeof fields["data"] === "string"
        ? asPart({ mimeType: mimeTypeOf(fields), data: bytesOf(fields["data"]) })
        : asJson(item);
    case "resource":
      return readResource(item, asObject(fields["resource"]));
    case "resource_link": {
      const { uri, name, title } = fields;
      if (typeof uri !== "string") return asJson(item);
      const shown = typeof name === "string" && name !== "" ? name : title;
      const named = typeof shown === "string" && shown !== "" ? { name: shown } : {};
      return asPart({ mimeType: mimeTypeOf(fields), uri, ...named });
    }
    // A kind that is newer than this package is told as it came.
    default:
      return asJson(item);
  }
}

function readResource(item: JsonValue, resource: JsonObject | undefined): ReadItem {
  if (typeof resource?.["text"] === "string") return { text: resource["text"] };
  if (typeof resource?.["blob"] !== "string") return asJson(item);
  const mimeType = mimeTypeOf(resource);
  const data = bytesOf(resource["blob"]);
  const decoded = isText(mimeType) ? decode(data) : undefined;
  if (decoded !== undefined) return { text: decoded };
  const { uri } = resource;
  return asPart({ mimeType, data, ...(typeof uri === "string" && { name: uri }) });
}

function asPart(part: ContentPart): ReadItem {
  return { text: placeholder(part), part };
}

function asJson(item: JsonValue): ReadItem {
  return { text: stringifyJson(item) };
}

function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

function mimeTypeOf({ mimeType }: JsonObject): string {
  return typeof mimeType === "string" && mimeType !== "" ? mimeType : "application/octet-stream";
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

function isText(mimeType: string): boolean {
  const [essence = ""] = mimeType.toLowerCase().split(";");
  return /^text\/|^application\/(?:json|xml|yaml|toml|javascript|ecmascript|sql|x-ndjson)$|\+(?:json|xml|yaml)$/u.test(
    essence.trim(),
  );
}

/** Undefined where the bytes are no UTF-8, whatever their type says. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
