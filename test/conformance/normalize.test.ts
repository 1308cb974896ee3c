import test from "ava";
import { ConfigurationError } from "../../src/errors.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { readCases } from "./lib/cases.ts";
import { testCases, testKnownFailures } from "./lib/known-failures.ts";
import { compareRegistry, type ExpectedRegistry } from "./lib/registry-view.ts";
import { toolsFromCase } from "./lib/plain-functions.ts";
import { toolFromCase, type ToolSpec } from "./lib/tool-from-case.ts";

interface Input {
  readonly tools: readonly ToolSpec[];
}

testKnownFailures();

testCases(readCases<Input, ExpectedRegistry>("normalize"), async (t, example) => {
  const tools = await toolsFromCase(example.input.tools);
  compareRegistry(t, example, tools, () => buildRegistry({ tools }));
});

test("an empty name is refused, naming the position", (t) => {
  const tools = [toolFromCase({ form: "base_tool", name: "" })];
  t.throws(() => buildRegistry({ tools }), {
    instanceOf: ConfigurationError,
    message: /tools\[0\].*name/u,
  });
});

test("a plain function whose source was not read is refused with how to wrap it", (t) => {
  const tools = [toolFromCase({ form: "callable", name: "look_up" })];
  t.throws(() => buildRegistry({ tools }), {
    instanceOf: ConfigurationError,
    message: /tools\[0\].*look_up.*defineTool\(\{ name: "look_up"/u,
  });
});
