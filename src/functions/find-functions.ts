import type { ToolsDefinition } from "../define-tools.ts";
import type { PlainFunction } from "../registry/plain-function.ts";
import { isRegisteredTool } from "../registry/register.ts";
import { read } from "../registry/tool-face.ts";
import { isBound, isClass } from "../registry/show.ts";

/** What a definition offers as tools that is a function, each once. */
export interface OfferedFunctions {
  readonly plain: readonly PlainFunction[];
  /** Classes, and what `bind` made: they can't be tools. */
  readonly others: readonly PlainFunction[];
}

/** The functions that a definition offers as tools. */
export function functionsOf({ tools, capabilities }: ToolsDefinition): OfferedFunctions {
  const offered = [...tools, ...capabilities.flatMap(toolsOf)].map(unwrapped);
  const functions = [...new Set(offered)].filter((one) => typeof one === "function");
  return {
    plain: functions.filter(isPlain) as PlainFunction[],
    others: functions.filter((one) => !isPlain(one)) as PlainFunction[],
  };
}

function isPlain(value: unknown): boolean {
  return !isClass(value) && !isBound(value);
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

function unwrapped(offered: unknown): unknown {
  return isRegisteredTool(offered) ? unwrapped(offered.tool) : offered;
}

/** What a capability holds is checked when the set is built; a mounted server's has no functions. */
function toolsOf(capability: unknown): readonly unknown[] {
  const tools = read(capability, "tools");
  return Array.isArray(tools) ? tools : [];
}
