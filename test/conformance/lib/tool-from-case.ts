import { DynamicStructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import type { JsonValue } from "../../../src/domain/json.ts";
import type { ToolContext } from "../../../src/domain/tool.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";

/** A parameter of a case's tool. */
export interface ParamSpec {
  readonly name: string;
  readonly type: "string" | "integer" | "any";
  readonly default?: JsonValue;
  /** The tool takes arguments of any name. */
  readonly variadic?: boolean;
}

/** What a case's tool does. */
export type BehaviorSpec =
  | { readonly op: "return"; readonly value: JsonValue }
  | { readonly op: "echo" }
  | { readonly op: "add" }
  | { readonly op: "raise"; readonly error: string; readonly message?: string }
  | { readonly op: "yield"; readonly values: readonly JsonValue[] }
  | { readonly op: "mutate" }
  /** For a run-aware tool: its run's id. */
  | { readonly op: "run_id" };

/** A case's tool, or what stands in a tool's place. */
export interface ToolSpec {
  readonly form?:
    | "symfonic_tool"
    | "base_tool"
    | "callable"
    | "delegation_spec"
    | "object"
    | "value"
    | "class";
  readonly name?: string;
  readonly description?: string;
  readonly params?: readonly ParamSpec[];
  readonly behavior?: BehaviorSpec;
  readonly scope?: "public" | "internal" | "admin";
  readonly routing_mode?: "off" | "observe" | "enforce";
  readonly visibility?: "visible" | "hidden";
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** A contributed description's declared parameters. */
  readonly parameters?: readonly string[];
  /** Members that a contributed description lacks. */
  readonly omit?: readonly string[];
  readonly attrs?: Readonly<Record<string, unknown>>;
  readonly value?: JsonValue;
}

/** What a case says of a run-aware tool: this is its body. */
export interface ToolFromCaseOptions {
  readonly runAware?: BehaviorSpec;
}

/**
 * Makes what a case describes: a tool of any form, or what stands in its place.
 *
 * @param options.runAware makes the tool run-aware with this body
 */
export function toolFromCase(spec: ToolSpec, options: ToolFromCaseOptions = {}): unknown {
  switch (spec.form) {
    case "base_tool":
      return langChainTool(spec);
    case "callable":
      return plainFunction(spec);
    case "delegation_spec":
      return contributedDescription(spec);
    case "object":
      return new SimpleNamespace(spec.attrs ?? {});
    case "value":
      return spec.value ?? null;
    case "class":
      return { [spec.name ?? "Tool"]: class extends Object {} }[spec.name ?? "Tool"];
    default:
      return definedTool(spec, options.runAware);
  }
}

/** The class of a case's plain objects; its name is in what the cases expect. */
// oxlint-disable-next-line typescript/no-extraneous-class
class SimpleNamespace {
  constructor(attrs: Readonly<Record<string, unknown>>) {
    for (const [key, value] of Object.entries(attrs)) {
      // A description's body is its `coroutine` there, and its `execute` here.
      Object.defineProperty(this, key === "coroutine" ? "execute" : key, {
        value,
        enumerable: true,
      });
    }
  }
}

function definedTool(spec: ToolSpec, runAware?: BehaviorSpec): unknown {
  const name = spec.name ?? "";
  return defineTool({
    name,
    description: spec.description ?? `${name} documentation.`,
    parameters: parametersOf(spec),
    runAware: runAware !== undefined,
    ...(spec.scope && { scope: spec.scope }),
    ...(spec.routing_mode && { routingMode: spec.routing_mode }),
    ...(spec.visibility && { visibility: spec.visibility }),
    ...(spec.metadata && { metadata: spec.metadata }),
    execute: (args, ctx) => behave(runAware ?? spec.behavior, args, ctx),
  });
}

function langChainTool(spec: ToolSpec): unknown {
  return new DynamicStructuredTool({
    name: spec.name ?? "",
    description: spec.description ?? "d",
    schema: parametersOf(spec),
    ...(spec.metadata && { metadata: spec.metadata }),
    func: async (args, _manager, config) => {
      const { signal } = config as { readonly signal?: AbortSignal };
      return (await behave(spec.behavior, args, { signal })) as string;
    },
  });
}

function plainFunction(spec: ToolSpec): unknown {
  const name = spec.name ?? "";
  return { [name]: (args: unknown) => behave(spec.behavior, args, {}) }[name];
}

function contributedDescription(spec: ToolSpec): unknown {
  const whole: Record<string, unknown> = {
    name: spec.name,
    description: spec.description ?? "",
    parameters: spec.parameters ?? null,
    execute: definedTool({ ...spec, form: "symfonic_tool" }),
  };
  for (const key of spec.omit ?? []) Reflect.deleteProperty(whole, key);
  return whole;
}

function parametersOf(spec: ToolSpec): z.ZodObject {
  const shape: Record<string, z.ZodType> = {};
  for (const param of spec.params ?? []) {
    if (param.variadic) return z.looseObject({});
    const type: z.ZodType = { string: z.string(), integer: z.int(), any: z.unknown() }[param.type];
    shape[param.name] = param.default === undefined ? type : type.default(param.default);
  }
  return z.object(shape);
}

type BehaviorContext = { readonly signal?: AbortSignal | undefined } & Partial<
  Pick<ToolContext, "run">
>;

function behave(behavior: BehaviorSpec | undefined, args: unknown, ctx: BehaviorContext): unknown {
  switch (behavior?.op) {
    case undefined:
      return "ok";
    case "return":
      return behavior.value;
    case "echo":
      return args;
    case "add": {
      const { a, b } = args as { readonly a: number; readonly b: number };
      return a + b;
    }
    case "raise":
      return behavior.error === "CancelledError" ? untilCancelled(ctx.signal) : raise(behavior);
    case "yield":
      return yieldAll(behavior.values);
    case "mutate":
      return mutate(args as Record<string, unknown>);
    case "run_id":
      return ctx.run?.id;
  }
}

/** Python raises cancellation in a task; here it comes from outside, by the signal. */
async function untilCancelled(signal: AbortSignal | undefined): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
  throw signal?.reason;
}

function raise({
  error,
  message = "",
}: {
  readonly error: string;
  readonly message?: string;
}): never {
  // An error's class is what its constructor is called, so each name gets a class of its own.
  const Named = { [error]: class extends Error {} }[error] as ErrorConstructor;
  const thrown = new Named(message);
  thrown.name = error;
  throw thrown;
}

function* yieldAll(values: readonly JsonValue[]): Generator<JsonValue, void> {
  yield* values;
}

function mutate(args: Record<string, unknown>): string {
  for (const value of Object.values(args)) {
    if (Array.isArray(value)) value.push("mutated");
    else if (typeof value === "object" && value !== null) Object.assign(value, { mutated: true });
  }
  args["mutated"] = true;
  return "mutated";
}
