import test from "ava";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { defineTool } from "../../src/registry/define-tool.ts";

const execute = (): string => "done";
const contributing = (...tools: readonly object[]): readonly string[] =>
  buildRegistry({ capabilities: [{ name: "crm", tools }] }).warnings;

test("a description's member that reads like an option, and is none, is warned of", (t) => {
  const description = "Finds a customer.";
  for (const [key, meant] of [
    ["timeoutMS", "timeoutMs"],
    ["timeout_ms", "timeoutMs"],
    ["paramaters", "parameters"],
    ["inputSchema", "parameters"],
    ["idempotant", "idempotent"],
    ["read_only", "readOnly"],
    ["hidden", "visibility"],
    ["Category", "category"],
  ] as const) {
    t.deepEqual(contributing({ name: "find", description, execute, [key]: {} }), [
      `tool 'find' of capability 'crm': ${key} is no option and is ignored: did you mean ${meant}?`,
    ]);
  }
  // Its own state is its own matter, also beside the option itself.
  const state = { count: 0, cache: {}, names: [], runs: 3, costs: [], _name: "x" };
  t.deepEqual(contributing({ name: "find", description, execute, ...state }), []);
  const both = { parameters: {}, schema: {}, timeout: 5, timeoutMs: 5 };
  t.deepEqual(contributing({ name: "find", description, execute, ...both }), []);
});

test("a blank description is warned of, unless the tool is hidden", (t) => {
  const why = "it has no description, so that a model can't tell what it is for";
  const tools = [
    defineTool({ name: "none", description: "", execute }),
    defineTool({ name: "blank", description: " \n\t", execute }),
    defineTool({ name: "said", description: "Says something.", execute }),
    defineTool({ name: "hidden", description: "", visibility: "hidden", execute }),
  ];
  t.deepEqual(buildRegistry({ tools }).warnings, [`tool 'none': ${why}`, `tool 'blank': ${why}`]);
  t.deepEqual(contributing({ name: "blank", description: "  ", execute }), [
    `tool 'blank' of capability 'crm': ${why}`,
  ]);
});
