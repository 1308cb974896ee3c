import { create } from "@bufbuild/protobuf";
import type { ToolDescriptor as Descriptor } from "../domain/tool.ts";
import { stringifyJson } from "../internal/json-text.ts";
import { type ToolDescriptor, ToolDescriptorSchema } from "./v1.ts";

const made = new WeakMap<Descriptor, ToolDescriptor>();

/** A descriptor as a message; made once, since descriptors are frozen. Not to be changed. */
export function toDescriptorMessage(descriptor: Descriptor): ToolDescriptor {
  let message = made.get(descriptor);
  if (!message) {
    message = convert(descriptor);
    made.set(descriptor, message);
  }
  return message;
}

function convert(from: Descriptor): ToolDescriptor {
  const message = create(ToolDescriptorSchema, {
    name: from.name,
    description: from.description,
    summary: from.summary,
    manifestEntry: from.manifestEntry,
    hidden: from.hidden,
    inputSchemaJson: stringifyJson(from.inputSchema),
    runAware: from.runAware,
    idempotent: from.idempotent,
    capability: from.capability,
  });
  if (from.outputSchema !== null) message.outputSchemaJson = stringifyJson(from.outputSchema);
  if (from.category !== null) message.category = from.category;
  if (from.safetyLevel !== null) message.safetyLevel = from.safetyLevel;
  if (from.costUsd !== null) message.costUsd = from.costUsd;
  if (from.requires !== null) message.requires = from.requires;
  if (from.maxCallsPerInvocation !== null) {
    message.maxCallsPerInvocation = from.maxCallsPerInvocation;
  }
  if (from.scope !== null) message.scope = from.scope;
  if (from.routingMode !== null) message.routingMode = from.routingMode;
  if (from.timeoutMs !== null) message.timeoutMs = from.timeoutMs;
  if (from.readOnly !== null) message.readOnly = from.readOnly;
  if (from.destructive !== null) message.destructive = from.destructive;
  if (from.openWorld !== null) message.openWorld = from.openWorld;
  return message;
}
