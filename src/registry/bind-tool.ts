import type { JsonSchema } from "../domain/json.ts";
import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { type DefinedTool, isDefinedTool } from "./define-tool.ts";
import {
  isLangChainTool,
  type LangChainTool,
  runLangChainTool,
  stringToolParameters,
  takesString,
} from "./langchain-tool.ts";
import { type ArgumentSchema, readOutput, readParameters } from "./schema/argument-schema.ts";
import { read } from "./tool-face.ts";
import { describeFunction, isBound, isClass, show } from "./show.ts";

/** A tool of any form, read: what it takes and how it runs. */
export interface BoundTool {
  readonly schema: ArgumentSchema;
  readonly outputSchema: JsonSchema | null;
  readonly execute: (args: unknown, ctx: ToolContext) => unknown;
}

/** Whether a value is a tool already: it carries its own schema and its own body. */
export function isRuntimeTool(value: unknown): value is DefinedTool | LangChainTool {
  return isDefinedTool(value) || isLangChainTool(value);
}

/**
 * Reads a tool of any form.
 *
 * @throws ConfigurationError in one sentence without a subject, such as "its parameters are 42 …",
 *   where the tool can't be served; see {@link describeNonTool} for what is no tool at all
 */
export function bindTool(tool: unknown): BoundTool {
  if (isDefinedTool(tool)) {
    return {
      schema: readSafely(tool.parameters),
      outputSchema: readOutput(tool.output),
      execute: (args, ctx) => tool.execute(args, ctx),
    };
  }
  if (isLangChainTool(tool)) {
    return {
      schema: readSafely(takesString(tool) ? stringToolParameters : tool.schema),
      outputSchema: null,
      execute: (args, ctx) => runLangChainTool(tool, args, ctx),
    };
  }
  throw new ConfigurationError(describeNonTool(tool));
}

/** Why a value is no tool, and what to do: "a Foo is neither …". */
export function describeNonTool(value: unknown): string {
  if (typeof value === "function" && !isClass(value) && !isBound(value)) {
    const name = value.name === "" ? "fn" : value.name;
    return (
      `${describeFunction(value)} has not been read: a plain function is read from its source when ` +
      "loadToolsFile, or a command, loads the tools file that offers it; or wrap it with " +
      `defineTool({ name: ${JSON.stringify(name)}, description: "...", parameters: z.object({ ... }), execute: ${name} })`
    );
  }
  const hint = typeof read(value, "execute") === "function" ? ": pass it to defineTool" : "";
  return `${show(value)} is neither what defineTool made nor a LangChain.js tool, nor a plain function${hint}`;
}

function readSafely(parameters: unknown): ArgumentSchema {
  try {
    return readParameters(parameters);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`its parameters can't be read: ${why}`, { cause: error });
  }
}
