import type { JsonObject, JsonSchema } from "../domain/json.ts";
import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { type DefinedTool, makeTool, withDefaults } from "./define-tool.ts";
import { derivedParameters } from "./schema/derived-schema.ts";
import { member, objectMember } from "./schema/json-copy.ts";
import { readTraits } from "./tool-options.ts";

/**
 * What a function is given at one of its places: an argument by its name, the rest of the arguments
 * as a list, the members of all arguments as one object, or what is never advertised.
 */
export type Passed =
  | { readonly kind: "argument"; readonly name: string }
  | { readonly kind: "rest"; readonly name: string }
  | { readonly kind: "members" }
  | { readonly kind: "signal" }
  | { readonly kind: "context" };

/** A plain function as its source describes it: plain data. */
export interface FunctionDescription {
  readonly name: string;
  readonly description: string;
  /** Its arguments, with the marks of types that JSON lacks; an object at the root. */
  readonly parameters: JsonSchema;
  readonly output: JsonSchema | null;
  /** The traits that its doc tags state. */
  readonly traits: JsonObject;
  /** How its arguments reach it, in order. */
  readonly passed: readonly Passed[];
  /** What its author should know, one sentence each. */
  readonly warnings: readonly string[];
}

/** A function that takes whatever its description says. */
export type PlainFunction = (...args: never[]) => unknown;

type Finding = { readonly tool: DefinedTool } | { readonly refused: string };

const findings = new WeakMap<PlainFunction, Finding>();

/**
 * Makes a function a tool from now on: wherever it stands in a set, it is what `description` says.
 *
 * @throws ConfigurationError for traits that no tool has
 */
export function describeFunctionAs(fn: PlainFunction, description: FunctionDescription): void {
  findings.set(fn, { tool: makeFunctionTool(fn, description) });
}

/** Notes why a function can't be a tool, for whoever asks for it as one: "the function f …". */
export function refuseFunction(fn: PlainFunction, why: string): void {
  findings.set(fn, { refused: why });
}

/**
 * The tool that a plain function is; undefined where nothing is known of it.
 *
 * @throws ConfigurationError with the reason, where it can't be one
 */
export function toolOfFunction(value: unknown): DefinedTool | undefined {
  if (typeof value !== "function") return undefined;
  const found = findings.get(value as PlainFunction);
  if (found && "refused" in found) throw new ConfigurationError(found.refused);
  return found?.tool;
}

function makeFunctionTool(fn: PlainFunction, description: FunctionDescription): DefinedTool {
  const { name, parameters, output, passed, warnings } = description;
  const call = fn as (...args: readonly unknown[]) => unknown;
  const declared = ownMembers(parameters);
  return makeTool({
    name,
    description: description.description,
    parameters: derivedParameters(parameters, warnings),
    output,
    traits: withDefaults(readTraits(`the function ${name}`, description.traits)),
    execute: (args: unknown, ctx: ToolContext): unknown =>
      call(...placed(passed, args as Readonly<Record<string, unknown>>, ctx, declared)),
  });
}

function placed(
  passed: readonly Passed[],
  args: Readonly<Record<string, unknown>>,
  ctx: ToolContext,
  declared: ReadonlySet<string> | undefined,
): readonly unknown[] {
  const list = passed.flatMap((one): readonly unknown[] => {
    switch (one.kind) {
      case "argument":
        return [args[one.name]];
      case "rest":
        return (args[one.name] ?? []) as readonly unknown[];
      case "members":
        return [declared ? pick(args, declared) : args];
      case "signal":
        return [ctx.signal];
      case "context":
        return [ctx];
    }
  });
  // Left out rather than passed as undefined, as a caller in JavaScript would.
  const count = list.findLastIndex((one) => one !== undefined) + 1;
  return list.slice(0, count);
}

/** The names that a root takes; undefined where it takes any, or depends on its variants. */
function ownMembers(root: JsonSchema): ReadonlySet<string> | undefined {
  const isOpen = ["$ref", "anyOf", "additionalProperties", "patternProperties"].some(
    (key) => member(root, key) !== undefined,
  );
  return isOpen ? undefined : new Set(Object.keys(objectMember(root, "properties") ?? {}));
}

function pick(
  args: Readonly<Record<string, unknown>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const picked = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of Object.entries(args)) if (names.has(key)) picked[key] = value;
  return picked;
}
