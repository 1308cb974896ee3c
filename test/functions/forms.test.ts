import { join } from "node:path";
import test from "ava";
import fc from "fast-check";
import { loadTools } from "../../src/config/tools-file.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Tool } from "../../src/domain/tool.ts";
import { createToolPort } from "../../src/port.ts";
import type { Passed } from "../../src/registry/plain-function.ts";
import { sourceText } from "./lib/source-text.ts";
import { typeCheck } from "./lib/type-check.ts";
import { mutated, valuesOf } from "./lib/values.ts";

const file = join(import.meta.dirname, "tools/forms.ts");
const samples = 16;
const seed = 20_311;
/** Types that strings and lists have too, by their own members; where one stands, objects are taken. */
const fitsMore = new Set(["numberKeys"]);

interface Call {
  readonly isAccepted: boolean;
  readonly given: JsonObject;
  readonly text: string;
}

async function callsOf(tool: Tool, passed: readonly Passed[]): Promise<readonly Call[]> {
  const { name, inputSchema } = tool.descriptor;
  const values = valuesOf(inputSchema);
  const calls: Call[] = [];
  for (const given of [
    ...fc.sample(values, { numRuns: samples, seed }),
    ...fc.sample(mutated(values), { numRuns: samples * 2, seed }),
  ]) {
    const checked = await tool.check(given);
    const args = (checked.ok ? checked.value : given) as Readonly<Record<string, unknown>>;
    const list = passed.map((one) => argumentText(one, args)).join(", ");
    calls.push({ isAccepted: checked.ok, given, text: `void forms.${name}(${list});` });
  }
  return calls;
}

function argumentText(passed: Passed, args: Readonly<Record<string, unknown>>): string {
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

test("what a derived schema accepts has the type of the function, and what the type refuses it refuses", async (t) => {
  const { definition, functions } = await loadTools(file, { schemas: "derive" });
  const { registry } = createToolPort(definition);
  const described = functions.derived?.functions ?? [];
  t.true(described.length >= 40);
  const lines = [`import * as forms from ${JSON.stringify(file)};`];
  const callOf = new Map<number, Call>();
  for (const { tool: description } of described) {
    const tool = registry.get(description.name) as Tool;
    const calls = await callsOf(tool, description.passed);
    t.true(
      calls.slice(0, samples).every(({ isAccepted }) => isAccepted),
      `${description.name} refuses a value of its own schema`,
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
  t.deepEqual(findings, []);
});
