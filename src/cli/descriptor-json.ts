import type { Content, ServerInfo, ToolCall, ToolDescriptor } from "../wire/v1.ts";
import { ErrorKind } from "../wire/v1.ts";
import { exactJson } from "./terminal.ts";

// Scripts read these with `jq`: names as in the contract, schemas and structured results as JSON
// rather than as text within JSON, and what is absent is left out.

/** A descriptor as the command line prints it. */
export function descriptorJson(tool: ToolDescriptor): Record<string, unknown> {
  const { $typeName: _, $unknown: __, inputSchemaJson, outputSchemaJson, ...rest } = tool;
  return {
    ...rest,
    inputSchema: exactJson(inputSchemaJson),
    ...(outputSchemaJson === undefined ? {} : { outputSchema: exactJson(outputSchemaJson) }),
  };
}

/** What the server says of itself, as the command line prints it. */
export function serverJson(server: ServerInfo | undefined): Record<string, unknown> | undefined {
  if (!server) return undefined;
  const { $typeName: _, $unknown: __, ...rest } = server;
  return rest;
}

/** A finished call as the command line prints it. */
export function callJson(call: ToolCall): Record<string, unknown> {
  return {
    id: call.id,
    name: call.name,
    ok: call.error === undefined,
    ...(call.result === undefined ? {} : { result: call.result }),
    ...(call.structuredJson === undefined ? {} : { structured: exactJson(call.structuredJson) }),
    ...(call.error === undefined
      ? {}
      : { error: call.error, errorKind: errorKindName(call.errorKind) }),
    ...(call.content.length === 0 ? {} : { content: call.content.map(contentJson) }),
    durationMs: call.durationMs,
    attempt: call.attempt,
    replayed: call.replayed,
  };
}

/** The name of an error kind, such as `INVALID_ARGUMENTS`. */
export function errorKindName(kind: ErrorKind): string {
  return Object.entries(ErrorKind).find(([, value]) => value === kind)?.[0] ?? String(kind);
}

function contentJson(content: Content): Record<string, unknown> {
  const { source } = content;
  return {
    mimeType: content.mimeType,
    ...(content.name === undefined ? {} : { name: content.name }),
    ...(source.case === "uri" ? { uri: source.value } : {}),
    ...(source.case === "data" ? { base64: Buffer.from(source.value).toString("base64") } : {}),
  };
}
