import { createHash } from "node:crypto";
import type { JsonValue } from "../domain/json.ts";
import type { Registry, Tool, ToolLimits } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { canonicalJson } from "../internal/json-text.ts";
import { pythonRepr } from "../internal/python-text.ts";
import { type BoundTool, bindTool, describeNonTool, isRuntimeTool } from "./bind-tool.ts";
import { bindContributedTool } from "./contributed-tool.ts";
import { makeDescriptor } from "./describe-tool.ts";
import { warnOfMisspelt } from "./misspelt.ts";
import { toolOfFunction } from "./plain-function.ts";
import type { DefinedTool } from "./define-tool.ts";
import { isRegisteredTool, type RegistrationOptions } from "./register.ts";
import { show } from "./show.ts";
import { faceOf, read } from "./tool-face.ts";
import { readName, type StatedTraits } from "./tool-options.ts";

/** A named contributor of tools. */
export interface Capability {
  readonly name: string;
  /** Tools of any form, or descriptions `{ name, description, parameters?, execute }`. */
  readonly tools: readonly unknown[];
}

/** What a registry is built from. */
export interface RegistryInput {
  /** The adopter's own tools, in order. */
  readonly tools?: readonly unknown[] | undefined;
  /** What follows them, in order. */
  readonly capabilities?: readonly Capability[] | undefined;
}

/** A registry with what its author should know. */
export interface BuiltRegistry extends Registry {
  /** One sentence each, naming the tool. */
  readonly warnings: readonly string[];
}

/**
 * Builds the frozen set: the adopter's tools first, then each capability's, each checked as it
 * comes.
 *
 * @throws ConfigurationError for the first tool that is none, can't be served, or whose name is
 *   taken; it names the tool's position and, for a contributed one, its capability
 */
export function buildRegistry(input: RegistryInput): BuiltRegistry {
  const held = new Map<string, Tool>();
  const warnings: string[] = [];

  (input.tools ?? []).forEach((given, index) => {
    const { tool, told } = readAdopted(given, index);
    const { name } = tool.descriptor;
    if (held.has(name)) {
      throw new ConfigurationError(
        `tools[${index}] resolves to the name ${pythonRepr(name)}, which is already registered by an earlier tool; give one of them another name.`,
      );
    }
    held.set(name, tool);
    warnings.push(...told.map((warning) => `tool ${pythonRepr(name)}: ${warning}`));
  });

  const owners = new Map<string, string>();
  (input.capabilities ?? []).forEach((given, position) => {
    const capability = readCapability(given, position);
    const who = `capability ${pythonRepr(capability.name)}`;
    capability.tools.forEach((offered, index) => {
      const { tool, told } = readContributed(offered, index, capability.name);
      const { name } = tool.descriptor;
      if (held.has(name)) {
        const owner = owners.get(name);
        const holder =
          owner === undefined
            ? "a tool passed to defineTools({ tools: [...] })"
            : `capability ${pythonRepr(owner)}`;
        throw new ConfigurationError(
          `${who} contributed a tool named ${pythonRepr(name)}, which is already registered by ${holder}.`,
        );
      }
      held.set(name, tool);
      owners.set(name, capability.name);
      warnings.push(...told.map((warning) => `tool ${pythonRepr(name)} of ${who}: ${warning}`));
    });
  });

  const tools = Object.freeze([...held.values()]);
  return Object.freeze({
    tools,
    digest: digestOf(tools),
    get: (name: string) => held.get(name),
    warnings: Object.freeze(warnings),
  });
}

function digestOf(tools: readonly Tool[]): string {
  const descriptors = tools.map(({ descriptor }) => descriptor as unknown as JsonValue);
  return `sha256:${createHash("sha256").update(canonicalJson(descriptors)).digest("hex")}`;
}

interface ReadTool {
  readonly tool: Tool;
  /** Warnings without a subject. */
  readonly told: readonly string[];
}

function readAdopted(given: unknown, index: number): ReadTool {
  const { source: named, registration } = unwrap(given);
  const source = readFunction(named, index) ?? named;
  if (!isRuntimeTool(source)) {
    throw new ConfigurationError(`tools[${index}] is not a tool: ${describeNonTool(source)}`);
  }
  const name = readName(`tools[${index}]`, read(source, "name"));
  try {
    return assemble({ source, bound: source, name, capability: "", registration });
  } catch (error) {
    throw new ConfigurationError(
      `tools[${index}], the tool ${pythonRepr(name)}, can't be served: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

function readFunction(given: unknown, index: number): DefinedTool | undefined {
  try {
    return toolOfFunction(given);
  } catch (error) {
    throw new ConfigurationError(`tools[${index}] is not a tool: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function readContributed(offered: unknown, index: number, capability: string): ReadTool {
  const { source, registration } = unwrap(offered);
  const face = faceOf(source);
  const what = face.toolName === null ? `tools[${index}]` : pythonRepr(face.toolName);
  const who = `capability ${pythonRepr(capability)} contributed ${what}, which`;
  try {
    const bound = bindContributedTool(source);
    if (!isRuntimeTool(bound)) {
      const cause = new ConfigurationError(describeNonTool(bound));
      throw new ConfigurationError(`${who} is not a tool: ${cause.message}`, { cause });
    }
    const name = readName("it", bound.name);
    const own = typeof source === "function" ? bound : source;
    return assemble({ source: own, bound, name, capability, registration });
  } catch (error) {
    if (error instanceof ConfigurationError && error.message.startsWith(who)) throw error;
    throw new ConfigurationError(`${who} can't be served: ${reasonOf(error)}`, { cause: error });
  }
}

function unwrap(given: unknown): { source: unknown; registration: RegistrationOptions | null } {
  if (!isRegisteredTool(given)) return { source: given, registration: null };
  const inner = unwrap(given.tool);
  // Registered twice: the later word wins, member by member.
  return { source: inner.source, registration: { ...inner.registration, ...given.registration } };
}

interface Parts {
  readonly source: unknown;
  readonly bound: unknown;
  readonly name: string;
  readonly capability: string;
  readonly registration: RegistrationOptions | null;
}

function assemble({ source, bound, name, capability, registration }: Parts): ReadTool {
  const { schema, outputSchema, execute }: BoundTool = bindTool(bound);
  const face = faceOf(bound);
  const inputSchema = schema.schema;
  const described = { name, inputSchema, outputSchema, capability, registration };
  const descriptor = makeDescriptor(face, described);
  const tool: Tool = Object.freeze({
    descriptor,
    limits: limitsOf(face.traits),
    source,
    check: schema.check,
    execute,
  });
  const isBlank = descriptor.description.trim() === "" && !descriptor.hidden;
  return {
    tool,
    told: [
      ...(isBlank ? ["it has no description, so that a model can't tell what it is for"] : []),
      ...(source === bound ? [] : warnOfMisspelt(source as object)),
      ...schema.warnings,
    ],
  };
}

function limitsOf(traits: StatedTraits): ToolLimits {
  return Object.freeze({
    timeoutMs: traits.timeoutMs ?? null,
    maxTimeoutMs: traits.maxTimeoutMs ?? null,
    concurrency: traits.concurrency ?? null,
    isolate: traits.isolate ?? null,
    largeResults: traits.largeResults ?? "refuse",
  });
}

function readCapability(given: unknown, position: number): Capability {
  const name = read(given, "name");
  const tools = read(given, "tools");
  if (typeof name !== "string" || !Array.isArray(tools)) {
    throw new ConfigurationError(
      `capabilities[${position}] is ${show(given)}: expected { name: "...", tools: [...] }`,
    );
  }
  return { name, tools };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
