import { buildRegistry, type Capability } from "../../src/registry/build-registry.ts";
import { readCases } from "./lib/cases.ts";
import { testCases } from "./lib/known-failures.ts";
import { compareRegistry, type ExpectedRegistry } from "./lib/registry-view.ts";
import { toolFromCase, type ToolSpec } from "./lib/tool-from-case.ts";

interface Input {
  readonly adopter: readonly ToolSpec[];
  readonly contributed: readonly { readonly capability: string; readonly tool: ToolSpec }[];
}

testCases(readCases<Input, ExpectedRegistry>("merge"), (t, example) => {
  const tools = example.input.adopter.map((spec) => toolFromCase(spec));
  const capabilities = example.input.contributed.map(({ capability, tool }): Capability => ({
    name: capability,
    tools: [toolFromCase(tool)],
  }));
  const offered = [...tools, ...capabilities.flatMap((capability) => capability.tools)];
  compareRegistry(t, example, offered, () => buildRegistry({ tools, capabilities }));
});
