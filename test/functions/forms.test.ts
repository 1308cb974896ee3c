import { randomInt } from "node:crypto";
import { join } from "node:path";
import test from "ava";
import fc from "fast-check";
import { loadTools } from "../../src/config/tools-file.ts";
import type { JsonObject, JsonSchema, JsonValue } from "../../src/domain/json.ts";
import type { Tool } from "../../src/domain/tool.ts";
import { createToolPort } from "../../src/port.ts";
import type { FunctionDescription, Passed } from "../../src/registry/plain-function.ts";
import { convertDerived } from "../../src/registry/schema/derived-values.ts";
import { sourceText } from "./lib/source-text.ts";
import { typeCheck } from "./lib/type-check.ts";
import { mutated, valuesOf } from "./lib/values.ts";
import { withAbsent } from "./lib/with-absent.ts";

const file = join(import.meta.dirname, "tools/forms.ts");
const samples = 16;
const seed = Number(process.env["FORMS_SEED"] ?? randomInt(2 ** 31));
/** Types that strings and lists have too, by their own members; where one stands, objects are taken. */
const fitsMore = new Set(["numberKeys", "emptyObject", "measured", "arrayLike"]);

type Arguments = Readonly<Record<string, unknown>>;

interface Call {
  readonly isAccepted: boolean;
  readonly given: JsonObject;
  readonly text: string;
}

async function callsOf(tool: Tool, { parameters, passed }: FunctionDescription): Promise<Call[]> {
  const { name, inputSchema } = tool.descriptor;
  const values = valuesOf(inputSchema);
  const calls: Call[] = [];
  for (const given of [
    ...fc.sample(values, { numRuns: samples, seed }),
    ...fc.sample(mutated(values), { numRuns: samples * 2, seed }),
  ]) {
    const checked = await tool.check(given);
    const args = checked.ok
      ? withAbsent(checked.value, given, parameters)
      : convertDerived(structuredClone(given) as JsonValue, parameters).value;
    const list = argumentTexts(passed, args as Arguments, parameters);
    calls.push({
      isAccepted: checked.ok,
      given,
      text: `void forms.${name}(${list.join(", ")});`,
    });
  }
  return calls;
}

/** The arguments as a caller in TypeScript would write them. */
function argumentTexts(
  passed: readonly Passed[],
  args: Arguments,
  parameters: JsonSchema,
): readonly string[] {
  const texts: string[] = [];
  for (const one of passed) {
    // Of any type is also what is not there; TypeScript asks for it all the same.
    if (one.kind === "argument" && !(one.name in args) && isOpen(parameters, one.name)) break;
    texts.push(argumentText(one, args));
  }
  return texts;
}

function argumentText(passed: Passed, args: Arguments): string {
  switch (passed.kind) {
    case "argument":
      return sourceText(args[passed.name]);
    case "rest":
      return `...${sourceText(args[passed.name] ?? [])}`;
    case "members":
      return sourceText(args);
    case "signal":
      return "new AbortController().signal";
    case "context":
      return "{} as never";
  }
}

function isOpen(parameters: JsonSchema, name: string): boolean {
  const { properties, required } = parameters as {
    readonly properties: JsonObject;
    readonly required?: readonly string[];
  };
  const isRequired = required?.includes(name) ?? false;
  return isRequired && Object.keys(properties[name] as JsonObject).length === 0;
}

test("what a derived schema accepts has the type of the function, and what the type refuses it refuses", async (t) => {
  const { definition, functions } = await loadTools(file, { schemas: "derive" });
  const { registry } = createToolPort(definition);
  const described = functions.derived?.functions ?? [];
  t.true(described.length >= 40);
  const lines = [`import * as forms from ${JSON.stringify(file)};`];
  const callOf = new Map<number, Call>();
  for (const { tool: description } of described) {
    const tool = registry.get(description.name) as Tool;
    const calls = await callsOf(tool, description);
    t.true(
      calls.slice(0, samples).every(({ isAccepted }) => isAccepted),
      `${description.name} refuses a value of its own schema (FORMS_SEED=${seed})`,
    );
    for (const call of calls) {
      if (!call.isAccepted && fitsMore.has(description.name)) continue;
      if (!call.isAccepted) callOf.set(lines.push("// @ts-expect-error"), call);
      callOf.set(lines.push(call.text), call);
    }
  }
  const findings = typeCheck(`${lines.join("\n")}\n`).map((finding) => {
    const call = callOf.get(Number(/calls\.ts\((\d+)/u.exec(finding)?.[1]));
    return `${JSON.stringify(call?.given)} as ${call?.text}: ${finding}`;
  });
  t.deepEqual(findings, [], `FORMS_SEED=${seed} shows this again`);
});
