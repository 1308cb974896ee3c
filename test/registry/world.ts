import type { JsonObject, JsonSchema } from "../../src/domain/json.ts";
import type { ToolContext } from "../../src/domain/tool.ts";
import { parseJson } from "../../src/internal/json-text.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { type DefinedTool, defineTool } from "../../src/registry/define-tool.ts";
import type { ToolSchema } from "../../src/registry/tool-options.ts";

/** A tool that returns what it is given. */
export function echo(parameters?: ToolSchema | null, name = "echo"): DefinedTool {
  return defineTool({
    name,
    description: "Returns its arguments.",
    parameters,
    execute: (args: unknown) => args,
  });
}

/** The schema that a tool with these parameters advertises. */
export function advertised(parameters: unknown): JsonSchema {
  const { tools } = buildRegistry({ tools: [echo(parameters as ToolSchema)] });
  const [tool] = tools;
  if (!tool) throw new Error("no tool was built");
  return tool.descriptor.inputSchema;
}

/** What a call comes to: the tool's own value, or why the arguments were refused. */
export type Called = { readonly value: unknown } | { readonly refused: string };

/** Calls a tool of any form with arguments as JSON text. */
export async function call(
  tool: unknown,
  argumentsJson: string,
  context: Partial<ToolContext> = {},
): Promise<Called> {
  const built = buildRegistry({ tools: [tool] }).tools[0];
  if (!built) throw new Error("no tool was built");
  const check = await built.check(parseJson(argumentsJson) as JsonObject);
  if (!check.ok) return { refused: check.message };
  return { value: await built.execute(check.value, contextOf(context)) };
}

/** A context with everything left out that a test does not speak of. */
export function contextOf(rest: Partial<ToolContext> = {}): ToolContext {
  return {
    runId: "",
    callId: "call-1",
    toolName: "echo",
    attempt: 1,
    idempotencyKey: "key",
    signal: new AbortController().signal,
    metadata: {},
    run: undefined,
    progress: () => {},
    output: async () => {},
    ...rest,
  };
}
