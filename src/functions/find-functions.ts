import type { ToolsDefinition } from "../define-tools.ts";
import type { PlainFunction } from "../registry/plain-function.ts";
import { isRegisteredTool } from "../registry/register.ts";
import { read } from "../registry/tool-face.ts";
import { isBound, isClass } from "../registry/show.ts";

/** The plain functions that a definition offers as tools, each once. */
export function plainFunctionsOf({
  tools,
  capabilities,
}: ToolsDefinition): readonly PlainFunction[] {
  const offered = [...tools, ...capabilities.flatMap(toolsOf)];
  return [...new Set(offered.map(unwrapped).filter(isPlainFunction))];
}

/** What a module exports that is a function, by the function; of several names its own. */
export function functionExports(
  namespace: Readonly<Record<string, unknown>>,
): ReadonlyMap<unknown, string> {
  const names = new Map<unknown, string>();
  for (const [name, value] of Object.entries(namespace)) {
    if (typeof value !== "function") continue;
    if (!names.has(value) || value.name === name) names.set(value, name);
  }
  return names;
}

function isPlainFunction(value: unknown): value is PlainFunction {
  return typeof value === "function" && !isClass(value) && !isBound(value);
}

function unwrapped(offered: unknown): unknown {
  return isRegisteredTool(offered) ? unwrapped(offered.tool) : offered;
}

/** What a capability holds is checked when the set is built; a mounted server's has no functions. */
function toolsOf(capability: unknown): readonly unknown[] {
  const tools = read(capability, "tools");
  return Array.isArray(tools) ? tools : [];
}
