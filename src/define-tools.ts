import { checkLimits, type Limits } from "./config/limits.ts";
import { ConfigurationError } from "./errors.ts";
import type { McpMount } from "./mounts/mcp.ts";
import type { Capability } from "./registry/build-registry.ts";
import type { SelectionConfig } from "./selection/config.ts";

/** What a tools file offers. */
export interface ToolsInput extends SelectionConfig {
  /**
   * The adopter's own tools, in order: what `defineTool` or `register` made, or LangChain.js tools.
   */
  readonly tools?: readonly unknown[] | undefined;
  /** Named packages of more tools, and MCP servers that `mcp` mounts; they follow the adopter's own. */
  readonly capabilities?: readonly (Capability | McpMount)[] | undefined;
  /** Whether a run may spend no more than each tool's `maxCallsPerInvocation`; default false. */
  readonly enforceBudgets?: boolean | undefined;
  /** Limits of the process; flags and `TOOLPORT_*` variables win over them. */
  readonly limits?: Partial<Limits> | undefined;
}

/** What {@link defineTools} made: the default export of a tools file. */
export interface ToolsDefinition {
  readonly tools: readonly unknown[];
  readonly capabilities: readonly (Capability | McpMount)[];
  readonly selection: SelectionConfig;
  readonly enforceBudgets: boolean;
  readonly limits: Partial<Limits>;
}

const brand = Symbol.for("toolport.definition");
const selectionKeys = ["palettes", "forcedChoice", "intent", "stages", "stageTimeoutMs"] as const;
const ownKeys = ["tools", "capabilities", "enforceBudgets", "limits"] as const;
const keys: readonly string[] = [...ownKeys, ...selectionKeys];

/**
 * Says what a tools file offers. Export what it returns as the file's default:
 *
 *     export default defineTools({ tools: [search, book] });
 *
 * The tools themselves are read when the set is built, by `serve`, `check`, `createToolPort` or
 * `openToolPort`.
 *
 * @throws ConfigurationError for an option that does not exist or is of another type
 */
export function defineTools(input: ToolsInput): ToolsDefinition {
  if (Array.isArray(input)) {
    throw new ConfigurationError(
      "defineTools was given an array: expected an object, such as defineTools({ tools: [...] })",
    );
  }
  if (typeof input !== "object" || input === null) {
    throw new ConfigurationError("defineTools expected an object, such as { tools: [...] }");
  }
  for (const key of Object.keys(input)) {
    if (!keys.includes(key)) {
      throw new ConfigurationError(
        `defineTools has no option ${JSON.stringify(key)}: expected any of ${keys.join(", ")}`,
      );
    }
  }
  const { tools = [], capabilities = [], enforceBudgets = false, limits } = input;
  requireList("tools", tools);
  requireList("capabilities", capabilities);
  if (typeof enforceBudgets !== "boolean") {
    throw new ConfigurationError("enforceBudgets is neither true nor false");
  }
  const selection = Object.fromEntries(
    selectionKeys.filter((key) => input[key] !== undefined).map((key) => [key, input[key]]),
  );
  return Object.freeze({
    [brand]: true,
    tools: Object.freeze([...tools]),
    capabilities: Object.freeze([...capabilities]),
    selection: Object.freeze(selection),
    enforceBudgets,
    limits: Object.freeze({ ...checkLimits(limits) }),
  });
}

/** Recognises what {@link defineTools} made, also that of another copy of the package. */
export function isToolsDefinition(value: unknown): value is ToolsDefinition {
  return typeof value === "object" && value !== null && Object.hasOwn(value, brand);
}

function requireList(option: string, value: unknown): void {
  if (!Array.isArray(value)) {
    throw new ConfigurationError(`${option} is ${typeof value}: expected an array`);
  }
}
