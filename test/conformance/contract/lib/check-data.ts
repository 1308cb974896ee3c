import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { fromBinary, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { ContractCase, Data, DataObject, Step } from "../../../../src/conformance/cases.ts";
import { rpcs } from "../../../../src/conformance/rpcs.ts";
import { fill } from "../../../../src/conformance/values.ts";

const faultKeys = new Set(["code", "reason", "started", "message", "retryInfo", "local"]);
const expectKeys = new Set(["message", "messages", "lastMessage", "fault"]);
const stepKeys: Readonly<Record<string, readonly string[]>> = {
  call: ["request", "requestBytes", "metadata", "timeoutMs", "expect"],
  start: ["rpc", "request", "requestBytes", "metadata", "timeoutMs"],
  send: ["message", "requestBytes"],
  receive: ["message", "anyOrder"],
  halfClose: [],
  cancel: [],
  end: ["expect"],
  pauseMs: [],
};

/** Stands for whatever a run puts there. */
const anything = new Map(
  ["run", "digest", "token", "q", "q1", "q2", "p", "ms", "text"].map((name) => [name, name]),
);

/**
 * What is wrong with a case's data, one sentence each: a name that a runner would read over, a field
 * that no message has, a request that is none, an RPC that was not begun.
 */
export function faultsIn({ steps }: ContractCase): readonly string[] {
  const begun = new Map<string, DescMessage>();
  return steps.flatMap((step, i) => faultsInStep(step, begun).map((text) => `step ${i}: ${text}`));
}

function faultsInStep(step: Step, begun: Map<string, DescMessage>): readonly string[] {
  const [verb = ""] = Object.keys(stepKeys).filter((key) => Object.hasOwn(step, key));
  const known = stepKeys[verb];
  if (!known) return [`it is no step: ${JSON.stringify(step)}`];
  const unknown = Object.keys(step).filter((key) => key !== verb && !known.includes(key));
  const faults = unknown.map((key) => `${verb} takes no ${key}`);
  if ("call" in step) {
    const { input, output } = rpcs[step.call];
    return [...faults, ...inRequest(input, step), ...inExpect(output, step.expect as DataObject)];
  }
  if ("start" in step) {
    begun.set(step.start, rpcs[step.rpc].output);
    return [...faults, ...inRequest(rpcs[step.rpc].input, step)];
  }
  if ("pauseMs" in step) return faults;
  const output = begun.get(String((step as unknown as Record<string, unknown>)[verb]));
  if (!output) return [...faults, "it names an RPC that was not begun"];
  if ("send" in step) {
    const { message, requestBytes } = step;
    return [...faults, ...inRequest(rpcs.Run.input, { request: message, requestBytes })];
  }
  if ("receive" in step) {
    const expected = "anyOrder" in step ? step.anyOrder : [step.message];
    return [...faults, ...expected.flatMap((one) => inMessage(output, one))];
  }
  if ("end" in step) return [...faults, ...inExpect(output, step.expect as DataObject)];
  return faults;
}

function inRequest(
  input: DescMessage,
  given: { readonly request?: Data | undefined; readonly requestBytes?: string | undefined },
): readonly string[] {
  try {
    if (given.requestBytes !== undefined) {
      fromBinary(EmptySchema, new Uint8Array(Buffer.from(given.requestBytes, "base64")));
    }
    fromJson(input, fill(given.request ?? {}, anything) as JsonValue);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function inExpect(output: DescMessage, expect: DataObject): readonly string[] {
  const { message, messages = [], lastMessage, fault } = expect;
  return [
    ...Object.keys(expect)
      .filter((key) => !expectKeys.has(key))
      .map((key) => `it expects a ${key}, which no RPC has`),
    ...[message, lastMessage, ...(messages as readonly Data[])].flatMap((one) =>
      one === undefined ? [] : inMessage(output, one),
    ),
    ...(fault === undefined ? [] : inFault(fault as DataObject)),
  ];
}

function inFault(fault: DataObject): readonly string[] {
  return Object.keys(fault)
    .filter((key) => !faultKeys.has(key))
    .map((key) => `it expects a fault with ${key}, which none has`);
}

function inMessage(desc: DescMessage, expected: Data): readonly string[] {
  if (expected === null || typeof expected !== "object" || Array.isArray(expected)) return [];
  const matcher = soleMatcher(expected);
  if (matcher) return inMatcher(matcher, (part) => inMessage(desc, part));
  return Object.entries(expected as DataObject).flatMap(([key, part]) => {
    const field = desc.fields.find(({ jsonName }) => jsonName === key);
    return field ? inField(field, part) : [`it expects ${desc.typeName}.${key}, which is no field`];
  });
}

function inField(field: DescField, expected: Data): readonly string[] {
  const matcher = soleMatcher(expected);
  if (matcher) return inMatcher(matcher, (part) => inField(field, part));
  if (field.fieldKind === "enum") return inEnum(field.enum, expected);
  if (field.fieldKind === "message") return inMessage(field.message, expected);
  if (field.fieldKind === "list" && field.listKind === "message" && Array.isArray(expected)) {
    return expected.flatMap((item: Data) => inMessage(field.message, item));
  }
  return [];
}

function inEnum(desc: DescEnum, expected: Data): readonly string[] {
  const isKnown = expected === null || desc.values.some(({ name }) => name === expected);
  return isKnown ? [] : [`it expects ${JSON.stringify(expected)} of ${desc.typeName}`];
}

interface SoleMatcher {
  readonly name: string;
  readonly operand: Data;
}

function soleMatcher(data: Data): SoleMatcher | undefined {
  if (data === null || typeof data !== "object" || Array.isArray(data)) return undefined;
  const [[name, operand] = ["", null], ...others] = Object.entries(data);
  return name.startsWith("$") && others.length === 0 ? { name, operand } : undefined;
}

function inMatcher(
  { name, operand }: SoleMatcher,
  within: (part: Data) => readonly string[],
): readonly string[] {
  switch (name) {
    case "$all":
      return (operand as readonly Data[]).flatMap(within);
    case "$includes":
      return [];
    case "$exactly":
      return Object.hasOwn(operand as object, "echo") ? [] : within(operand);
    case "$fault":
      return inFault(operand as DataObject);
    case "$matches":
      return inPattern(operand as string);
    default:
      return [];
  }
}

/** Other languages' expressions know neither looking around nor referring back. */
function inPattern(pattern: string): readonly string[] {
  void new RegExp(pattern, "u");
  return /\(\?[=!<]|\\[1-9]/u.test(pattern) ? [`RE2 has no ${pattern}`] : [];
}
