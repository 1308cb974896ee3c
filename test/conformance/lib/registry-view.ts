import type { ExecutionContext } from "ava";
import type { Registry, Tool } from "../../../src/domain/tool.ts";
import { ConfigurationError } from "../../../src/errors.ts";
import { type Case, type ExpectedError, matchesText } from "./cases.ts";

/** A tool as the cases show it. */
export interface ExpectedTool {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly string[];
  readonly metadata?: {
    readonly scope: string;
    readonly routing_mode: string;
    readonly visibility: string;
  };
}

/** A set as the cases show it. */
export interface ExpectedRegistry {
  readonly names?: readonly string[];
  readonly tools?: readonly ExpectedTool[];
  readonly by_name_order?: readonly string[];
  readonly same_object?: readonly boolean[];
  readonly error?: ExpectedError;
}

/** Compares one tool with what a case expects of it. */
export function compareTool(t: ExecutionContext, tool: Tool, expected: ExpectedTool): void {
  const { descriptor } = tool;
  t.is(descriptor.name, expected.name);
  t.is(descriptor.description, expected.description);
  t.deepEqual(argumentNames(tool), expected.arguments);
  if (!expected.metadata) return;
  t.is(descriptor.scope, expected.metadata.scope);
  t.is(descriptor.routingMode, expected.metadata.routing_mode);
  t.is(descriptor.hidden, expected.metadata.visibility === "hidden");
}

/** Builds a set and compares it, or the error, with what a case expects. */
export function compareRegistry(
  t: ExecutionContext,
  example: Case<unknown, ExpectedRegistry>,
  offered: readonly unknown[],
  build: () => Registry,
): void {
  const { expect } = example;
  if (expect.error) return compareError(t, example, expect.error, build);
  const registry = build();
  const { tools } = registry;
  const names = tools.map(({ descriptor }) => descriptor.name);
  t.deepEqual(names, expect.names);
  t.deepEqual(names, expect.by_name_order);
  tools.forEach((tool, index) => {
    compareTool(t, tool, (expect.tools ?? [])[index] as ExpectedTool);
    t.is(registry.get(tool.descriptor.name), tool);
    t.deepEqual([tool.source === offered[index]], [expect.same_object?.[index]]);
  });
}

/** Compares what building throws with what a case expects. */
export function compareError(
  t: ExecutionContext,
  { contains = [] }: Case,
  expected: ExpectedError,
  build: () => unknown,
): void {
  const error = t.throws(build, { instanceOf: ConfigurationError });
  compareOne(t, error, expected);
  for (const part of contains)
    t.true(error?.message.includes(part), `no ${part}: ${error?.message}`);
}

function compareOne(t: ExecutionContext, error: unknown, expected: ExpectedError): void {
  if (!(error instanceof Error)) return t.fail(`expected ${expected.type}`);
  t.is(error.name, expected.type);
  t.true(matchesText(error.message, expected.text), error.message);
  if (expected.cause) compareOne(t, error.cause, expected.cause);
}

function argumentNames({ descriptor }: Tool): readonly string[] {
  return Object.keys((descriptor.inputSchema["properties"] ?? {}) as object);
}
