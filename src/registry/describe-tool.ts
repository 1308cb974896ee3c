import type { JsonSchema } from "../domain/json.ts";
import type { ToolDescriptor } from "../domain/tool.ts";
import { firstLine } from "../internal/python-text.ts";
import { bindTool } from "./bind-tool.ts";
import { bindContributedTool } from "./contributed-tool.ts";
import { type ToolFace, faceOf } from "./tool-face.ts";
import {
  isRegisteredTool,
  readRegistration,
  type RegistrationOptions,
  registrationDefaults,
} from "./register.ts";
import { deepFreeze } from "./schema/json-copy.ts";

/** A descriptor of anything, tool or not. */
export interface ToolReading extends ToolDescriptor {
  /** The name to gate it by; null where it has none, and then `name` is its class's. */
  readonly toolName: string | null;
}

/** What a descriptor is made of beside a tool's face. */
export interface DescriptorParts {
  readonly name: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly capability: string;
  readonly registration: RegistrationOptions | null;
}

const noArguments: JsonSchema = deepFreeze({ type: "object", properties: {} });

/**
 * Reads a descriptor from anything: what can't be read is null, empty, or an open schema. Two
 * readings of one thing are equal by value.
 *
 * @param registration what was said when it was registered; null for none
 * @throws ConfigurationError for a registration with options that do not exist
 */
export function describeTool(
  tool: unknown,
  registration: RegistrationOptions | null = null,
): ToolReading {
  const source = bound(isRegisteredTool(tool) ? tool.tool : tool);
  const said = registration ?? (isRegisteredTool(tool) ? tool.registration : null);
  const face = faceOf(source);
  const schemas = readSchemas(source);
  const descriptor = makeDescriptor(face, {
    ...schemas,
    name: face.toolName ?? face.typeName,
    capability: "",
    registration: said && readRegistration(said),
  });
  return Object.freeze({ ...descriptor, toolName: face.toolName });
}

/** Makes a frozen descriptor. */
export function makeDescriptor(face: ToolFace, parts: DescriptorParts): ToolDescriptor {
  const { traits } = face;
  const said = parts.registration;
  const summary = firstLine(face.description);
  return Object.freeze({
    name: parts.name,
    description: face.description,
    summary,
    manifestEntry: summary === "" ? parts.name : `${parts.name}: ${summary}`,
    hidden: isHidden(face, said),
    inputSchema: parts.inputSchema,
    outputSchema: parts.outputSchema,
    category: said?.category ?? traits.category ?? (said && registrationDefaults.category),
    safetyLevel:
      said?.safetyLevel ?? traits.safetyLevel ?? (said && registrationDefaults.safetyLevel),
    costUsd: said?.costUsd ?? traits.costUsd ?? null,
    requires: said?.requires ?? traits.requires ?? null,
    maxCallsPerInvocation: said?.maxCallsPerInvocation ?? traits.maxCallsPerInvocation ?? null,
    scope: traits.scope ?? null,
    routingMode: traits.routingMode ?? null,
    timeoutMs: traits.timeoutMs ?? null,
    runAware: traits.runAware ?? false,
    idempotent: traits.idempotent ?? false,
    readOnly: traits.readOnly ?? null,
    destructive: traits.destructive ?? null,
    openWorld: traits.openWorld ?? null,
    capability: parts.capability,
  });
}

/** Any one source hides a tool; only the boolean false does. */
function isHidden({ traits, metadata }: ToolFace, said: RegistrationOptions | null): boolean {
  return (
    traits.visibility === "hidden" ||
    metadata["visible_to_agents"] === false ||
    metadata["visibleToAgents"] === false ||
    said?.visibleToAgents === false
  );
}

function bound(source: unknown): unknown {
  try {
    return bindContributedTool(source);
  } catch {
    return source;
  }
}

function readSchemas(source: unknown): Pick<DescriptorParts, "inputSchema" | "outputSchema"> {
  try {
    const { schema, outputSchema } = bindTool(source);
    return { inputSchema: schema.schema, outputSchema };
  } catch {
    return { inputSchema: noArguments, outputSchema: null };
  }
}
