import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { pythonRepr } from "../internal/python-text.ts";
import { isRuntimeTool } from "./bind-tool.ts";
import { type DefinedTool, isDefinedTool, makeTool } from "./define-tool.ts";
import { toolOfFunction } from "./plain-function.ts";
import { readParameters } from "./schema/argument-schema.ts";
import { isObject, objectMember } from "./schema/json-copy.ts";
import { show } from "./show.ts";
import { readTraits, type ToolSchema, type ToolTraits } from "./tool-options.ts";

/** A description of a tool as a capability offers it. */
export interface ContributedTool extends ToolTraits {
  readonly name: string;
  readonly description: string;
  /**
   * The arguments: a schema; or, where `execute` is a tool that `defineTool` made, a list of names,
   * or of objects with a name, that must be the very parameters of that tool.
   */
  readonly parameters?: ToolSchema | readonly (string | { readonly name: string })[] | null;
  readonly output?: ToolSchema | null;
  /** The body, or a tool whose schema and body to use. */
  readonly execute: ContributedBody | DefinedTool;
}

/** The body of a contributed tool; it may name the type of its arguments. */
export type ContributedBody = (args: never, ctx: ToolContext) => unknown;

/**
 * Makes a tool of what a capability offers: of a plain function that is described, or of a
 * description. What is a tool already, or has nothing to execute, is returned as it is.
 *
 * @throws ConfigurationError in one sentence, where a description is incomplete or declares other
 *   parameters than its body takes
 */
export function bindContributedTool(offered: unknown): unknown {
  if (isRuntimeTool(offered)) return offered;
  if (!isObject(offered)) return toolOfFunction(offered) ?? offered;
  const { execute } = offered as unknown as Partial<ContributedTool>;
  if (typeof execute !== "function" && !isDefinedTool(execute)) return offered;
  const { name, description, parameters, output } = offered as unknown as ContributedTool;
  if (typeof name !== "string" || name === "") {
    throw new ConfigurationError(`its name is ${show(name)}: expected a string that is not empty`);
  }
  if (typeof description !== "string") {
    throw new ConfigurationError(
      description === undefined
        ? "it has no description"
        : `its description is ${show(description)}`,
    );
  }
  const own = isDefinedTool(execute) ? execute : undefined;
  checkDeclared(name, parameters, own);
  const body = execute as ContributedBody;
  return makeTool({
    name,
    description,
    parameters: own ? own.parameters : isNameList(parameters) ? null : (parameters ?? null),
    output: output ?? own?.output ?? null,
    traits: Object.freeze({
      ...own?.traits,
      ...readTraits("it", offered as Readonly<Record<string, unknown>>),
    }),
    execute: (args: unknown, ctx: ToolContext): unknown =>
      own ? own.execute(args, ctx) : body.call(offered, args as never, ctx),
  });
}

type Declared = ContributedTool["parameters"];

/**
 * The declared names and those that the body takes must be the same set; nothing declared, nothing
 * to check. A plain function takes whatever it is given, so it matches no list of names.
 */
function checkDeclared(name: string, declared: Declared, own: DefinedTool | undefined): void {
  const names = declaredNames(declared, own !== undefined);
  if (names.length === 0) return;
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  const taken = own ? parameterNames(own.parameters) : null;
  const missing = names.filter((one) => !taken?.includes(one));
  const undeclared = (taken ?? []).filter((one) => !names.includes(one));
  if (taken && twice === undefined && missing.length === 0 && undeclared.length === 0) return;
  const differences = [
    ...(twice === undefined ? [] : [`declared twice: ${twice}`]),
    ...(taken && missing.length > 0 ? [`not taken: ${missing.join(", ")}`] : []),
    ...(undeclared.length > 0 ? [`not declared: ${undeclared.join(", ")}`] : []),
  ];
  throw new ConfigurationError(
    `${pythonRepr(name)} declares the parameters ${names.join(", ")}, but its body takes ` +
      (taken
        ? `${taken.join(", ") || "none"} (${differences.join("; ")})`
        : "anything: pass parameters as a schema, or as execute a tool that defineTool made"),
  );
}

function declaredNames(declared: Declared, hasOwn: boolean): readonly string[] {
  if (isNameList(declared)) {
    return declared.map((one, index) => {
      const name: unknown = typeof one === "string" ? one : one?.name;
      if (typeof name === "string" && name !== "") return name;
      throw new ConfigurationError(
        `the item ${index} of its parameters is ${show(one)}: expected a name, or an object with one`,
      );
    });
  }
  // A schema beside a plain body is the tool's own; beside a tool it is a declaration.
  return hasOwn && declared ? (parameterNames(declared) ?? []) : [];
}

/** The names of a schema's properties; null where it takes any name. */
function parameterNames(parameters: unknown): readonly string[] | null {
  const { schema, isOpen } = readParameters(parameters);
  const names = Object.keys(objectMember(schema, "properties") ?? {});
  return isOpen ? null : names;
}

function isNameList(
  declared: Declared,
): declared is readonly (string | { readonly name: string })[] {
  return Array.isArray(declared);
}
