import test from "ava";
import { ConfigurationError } from "../../src/errors.ts";
import { isRuntimeTool } from "../../src/registry/bind-tool.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { bindContributedTool } from "../../src/registry/contributed-tool.ts";
import { type ExpectedError, readCases } from "./lib/cases.ts";
import { testCases } from "./lib/known-failures.ts";
import { compareError, compareTool, type ExpectedTool } from "./lib/registry-view.ts";
import { toolFromCase, type ToolSpec } from "./lib/tool-from-case.ts";

interface Expect {
  readonly unchanged?: boolean;
  readonly is_runtime_tool?: boolean;
  readonly tool?: ExpectedTool;
  readonly error?: ExpectedError;
}

testCases(readCases<{ readonly offered: ToolSpec }, Expect>("contributed"), (t, example) => {
  const offered = toolFromCase(example.input.offered);
  const { error, unchanged, is_runtime_tool: isTool, tool: expected } = example.expect;
  if (error) return compareError(t, example, error, () => bindContributedTool(offered));
  const bound = bindContributedTool(offered);
  t.deepEqual([bound === offered, isRuntimeTool(bound)], [unchanged, isTool]);
  if (expected) {
    const registry = buildRegistry({ capabilities: [{ name: "c", tools: [offered] }] });
    compareTool(t, registry.tools[0] ?? t.fail(), expected);
  }
});

test("a description without a description is refused, naming capability, tool and reason", (t) => {
  const tool = toolFromCase({ form: "delegation_spec", name: "find", omit: ["description"] });
  t.throws(() => buildRegistry({ capabilities: [{ name: "search", tools: [tool] }] }), {
    instanceOf: ConfigurationError,
    message: /capability 'search'.*'find'.*no description/u,
  });
});
