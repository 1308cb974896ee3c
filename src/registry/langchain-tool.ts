import type { ToolContext } from "../domain/tool.ts";
import { isZod3Schema } from "./schema/zod3.ts";
import { read } from "./tool-face.ts";

/**
 * A LangChain.js tool, recognised by its shape so that the library stays optional: StructuredTool,
 * DynamicStructuredTool, DynamicTool and what `tool(...)` makes.
 */
export interface LangChainTool {
  readonly name: unknown;
  readonly description: unknown;
  readonly schema: unknown;
  readonly metadata?: unknown;
  readonly responseFormat?: unknown;
  readonly defaultConfig?: Readonly<Record<string, unknown>> | undefined;
  _call(input: unknown, runManager: undefined, config: object): unknown;
}

/** Recognises a LangChain.js tool, of any copy of the library. Never throws. */
export function isLangChainTool(value: unknown): value is LangChainTool {
  const namespace = read(value, "lc_namespace");
  return (
    Array.isArray(namespace) &&
    namespace[0] === "langchain" &&
    typeof read(value, "_call") === "function" &&
    typeof read(value, "invoke") === "function" &&
    read(value, "schema") !== undefined
  );
}

/** The arguments of a tool that takes one string instead of an object. */
export const stringToolParameters = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
} as const;

/** Whether a tool takes one string: its own schema then turns `{ input }` into that string. */
export function takesString(tool: LangChainTool): boolean {
  const { schema } = tool;
  if (!isZod3Schema(schema) || schema._def.typeName !== "ZodEffects") return false;
  const shape = schema._def.schema?._def.shape?.();
  if (!shape || Object.keys(shape).join(",") !== "input") return false;
  const { safeParse } = schema as unknown as { safeParse?: (value: unknown) => { data?: unknown } };
  return safeParse?.call(schema, { input: "probe" }).data === "probe";
}

/**
 * Runs a tool's body on arguments that are checked already. The library's own entry points would
 * check them a second time, swallow the yields of a generator, and read arguments that look like
 * a tool call's envelope as one; so its callbacks don't see the call.
 */
export function runLangChainTool(tool: LangChainTool, args: unknown, ctx: ToolContext): unknown {
  const input = takesString(tool) ? (args as { readonly input: string }).input : args;
  const config = {
    ...tool.defaultConfig,
    runName: ctx.toolName,
    signal: ctx.signal,
    metadata: { ...ctx.metadata },
    configurable: {
      ...(tool.defaultConfig?.["configurable"] as object | undefined),
      run_id: ctx.runId,
      tool_call_id: ctx.callId,
    },
    toolCall: { type: "tool_call", id: ctx.callId, name: ctx.toolName, args },
  };
  const output = tool._call(input, undefined, config);
  return isThenable(output) ? output.then((value) => unwrap(tool, value)) : unwrap(tool, output);
}

/** The part of an output that is the result: content without artifact, text without its message. */
function unwrap(tool: LangChainTool, output: unknown): unknown {
  if (tool.responseFormat === "content_and_artifact") {
    if (Array.isArray(output) && output.length === 2) return output[0];
    throw new TypeError(
      "The tool's responseFormat is content_and_artifact, but it returned no pair of the two.",
    );
  }
  if (!isToolMessage(output)) return output;
  if (output.status !== "error") return output.content;
  const { content } = output;
  const failure = new Error(typeof content === "string" ? content : JSON.stringify(content));
  failure.name = "ToolException";
  throw failure;
}

interface ToolMessage {
  readonly content: unknown;
  readonly status?: unknown;
}

function isToolMessage(value: unknown): value is ToolMessage {
  return (
    typeof value === "object" &&
    value !== null &&
    (value as { lc_direct_tool_output?: unknown }).lc_direct_tool_output === true &&
    "tool_call_id" in value &&
    "content" in value
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
