import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import {
  type ArgumentsOf,
  readDescription,
  readName,
  readTraits,
  refuseUnknown,
  type StatedTraits,
  type ToolSchema,
  type ToolTraits,
} from "./tool-options.ts";
import { show } from "./show.ts";

/** What {@link defineTool} takes. */
export interface ToolOptions<P extends ToolSchema | null | undefined> extends ToolTraits {
  /** What the kernel calls the tool by: exact, not empty, unique in the set. */
  readonly name: string;
  /** What the tool does, for the model; its first line is the summary. */
  readonly description: string;
  /**
   * The arguments: a schema of a library that can describe itself as JSON Schema (zod 4 and others),
   * or a JSON Schema object (2020-12 unless its `$schema` names draft-07). Left out: none.
   *
   * A library's schema drops undeclared arguments; JSON Schema passes them, unless it forbids them.
   * In JSON Schema an integer of `format: "int64"` may exceed 2^53 and is then a `bigint`.
   */
  readonly parameters?: P;
  /** The structured result, in the same forms; advertised, not enforced. */
  readonly output?: ToolSchema | null | undefined;
  /**
   * The body. What it returns is the result: a string as it is, anything else as JSON. A generator's
   * yields are sent at once; what it returns, or else its last yield, is the result.
   */
  execute(args: ArgumentsOf<P>, ctx: ToolContext): unknown;
}

/** A tool made by {@link defineTool}. Frozen. */
export interface DefinedTool<Args = unknown> {
  readonly name: string;
  readonly description: string;
  readonly parameters: ToolSchema | null;
  readonly output: ToolSchema | null;
  /** What the author stated of the tool; the rest is left out. */
  readonly traits: StatedTraits;
  execute(args: Args, ctx: ToolContext): unknown;
}

/** Marks what {@link defineTool} made; the same symbol in every copy of this package. */
export const toolBrand: unique symbol = Symbol.for("toolport.tool");

const ownOptions = ["name", "description", "parameters", "output", "execute"] as const;

/**
 * Defines a tool.
 *
 *     export const add = defineTool({
 *       name: "add",
 *       description: "Adds two numbers.",
 *       parameters: z.object({ a: z.number(), b: z.number() }),
 *       execute: ({ a, b }) => a + b,
 *     });
 *
 * @throws ConfigurationError for an option that does not exist or is of another type
 */
export function defineTool<P extends ToolSchema | null | undefined = undefined>(
  options: ToolOptions<P>,
): DefinedTool<ArgumentsOf<P>> {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(
      `defineTool was given ${show(options)}: expected an object with name, description and execute`,
    );
  }
  const name = readName("a tool given to defineTool", options.name);
  const what = `tool ${JSON.stringify(name)}`;
  refuseUnknown(what, options, ownOptions);
  // Called with its own object as `this` below.
  const { execute } = options;
  if (typeof execute !== "function") {
    throw new ConfigurationError(`${what}: execute is ${show(execute)}, expected a function`);
  }
  return makeTool({
    name,
    description: readDescription(what, options.description),
    parameters: options.parameters ?? null,
    output: options.output ?? null,
    traits: withDefaults(readTraits(what, options as unknown as Record<string, unknown>)),
    execute: (args: ArgumentsOf<P>, ctx: ToolContext): unknown => execute.call(options, args, ctx),
  });
}

/** Marks and freezes a tool of checked parts. */
export function makeTool<Args>(parts: DefinedTool<Args>): DefinedTool<Args> {
  const tool = { ...parts };
  Object.defineProperty(tool, toolBrand, { value: 1 });
  return Object.freeze(tool);
}

/** Recognises what {@link defineTool} made, also that of another copy of the package. */
export function isDefinedTool(value: unknown): value is DefinedTool {
  return typeof value === "object" && value !== null && Object.hasOwn(value, toolBrand);
}

/** What a tool is where its author does not say otherwise. */
export function withDefaults(stated: StatedTraits): StatedTraits {
  return Object.freeze({
    visibility: "visible",
    scope: "public",
    routingMode: "observe",
    ...stated,
  });
}
