import { isDefinedTool } from "./define-tool.ts";
import type { StatedTraits } from "./tool-options.ts";
import { typeNameOf } from "./show.ts";

/** What can be seen of anything that may be a tool, without running it. */
export interface ToolFace {
  /** Its name, where that is a string that is not empty; blank counts. */
  readonly toolName: string | null;
  /** The name of its class, or of its type. */
  readonly typeName: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What it states of itself. */
  readonly traits: StatedTraits;
}

const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** Reads the face of anything. Never throws. */
export function faceOf(value: unknown): ToolFace {
  const name = read(value, "name");
  const description = read(value, "description");
  const traits = isDefinedTool(value) ? value.traits : nothing;
  const metadata = isDefinedTool(value) ? value.traits.metadata : read(value, "metadata");
  return {
    toolName: typeof name === "string" && name !== "" ? name : null,
    typeName: typeNameOf(value),
    description: typeof description === "string" ? description : "",
    metadata: typeof metadata === "object" && metadata !== null ? { ...metadata } : nothing,
    traits,
  };
}

/** A member of anything; undefined where there is none or its getter throws. */
export function read(value: unknown, key: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null)
    return undefined;
  try {
    return (value as Readonly<Record<string, unknown>>)[key];
  } catch {
    return undefined;
  }
}
