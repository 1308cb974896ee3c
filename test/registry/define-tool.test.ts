import test from "ava";
import { z } from "zod";
import { ConfigurationError } from "../../src/errors.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { describeTool } from "../../src/registry/describe-tool.ts";
import { register } from "../../src/registry/register.ts";
import { contextOf } from "./world.ts";

const parts = { name: "t", description: "Does it.", execute: () => "done" };

test("a body is given the output type of its schema", (t) => {
  const tool = defineTool({
    name: "add",
    description: "Adds.",
    parameters: z.object({ a: z.string().transform(Number), b: z.number().default(2) }),
    execute({ a, b }) {
      const sum: number = a + b;
      return sum;
    },
  });
  t.is(tool.execute({ a: 1, b: 2 }, contextOf()), 3);
});

test("a body may name the type of its arguments beside a JSON Schema", (t) => {
  const tool = defineTool({
    name: "shout",
    description: "Shouts.",
    parameters: { type: "object", properties: { text: { type: "string" } } },
    execute: ({ text }: { readonly text?: string }) => text?.toUpperCase(),
  });
  t.is(tool.execute({ text: "a" }, contextOf()), "A");
});

test("a tool is frozen, and its options can change without changing it", (t) => {
  const options = { ...parts, metadata: { a: 1 } };
  const tool = defineTool(options);
  options.name = "other";
  options.metadata.a = 2;
  options.execute = () => "changed";
  t.true(Object.isFrozen(tool));
  t.is(tool.name, "t");
  t.deepEqual(tool.traits.metadata, { a: 1 });
  t.is(tool.execute({}, contextOf()), "done");
});

test("a tool made by another copy of the package is a tool", async (t) => {
  const url = new URL("../../src/registry/define-tool.ts?another-copy", import.meta.url);
  const other = (await import(url.href)) as typeof import("../../src/registry/define-tool.ts");
  t.not(other.defineTool, defineTool);
  t.is(buildRegistry({ tools: [other.defineTool(parts)] }).get("t")?.descriptor.name, "t");
});

test("what the author states is what the descriptor says; the rest is null", (t) => {
  t.like(describeTool(defineTool(parts)), {
    category: null,
    safetyLevel: null,
    costUsd: null,
    requires: null,
    maxCallsPerInvocation: null,
    scope: "public",
    routingMode: "observe",
    hidden: false,
    timeoutMs: null,
    runAware: false,
    idempotent: false,
    readOnly: null,
    destructive: null,
    openWorld: null,
    capability: "",
    outputSchema: null,
  });
  const stated = {
    category: "web",
    safetyLevel: "safe",
    costUsd: 0,
    requires: "browser",
    maxCallsPerInvocation: 0,
    scope: "admin",
    routingMode: "off",
    timeoutMs: 1500,
    runAware: true,
    idempotent: true,
    readOnly: false,
    destructive: false,
    openWorld: true,
  } as const;
  const output = z.object({ id: z.string() });
  const reading = describeTool(defineTool({ ...parts, ...stated, visibility: "hidden", output }));
  t.like(reading, { ...stated, hidden: true });
  t.like(reading.outputSchema, { properties: { id: { type: "string" } } });
});

test("limits are the tool's own, or absent", (t) => {
  const limits = {
    timeoutMs: 1000,
    maxTimeoutMs: 5000,
    concurrency: 2,
    isolate: "worker",
    largeResults: "spill",
  } as const;
  const { tools } = buildRegistry({
    tools: [defineTool({ ...parts, ...limits }), defineTool({ ...parts, name: "plain" })],
  });
  t.deepEqual(tools[0]?.limits, limits);
  t.deepEqual(tools[1]?.limits, {
    timeoutMs: null,
    maxTimeoutMs: null,
    concurrency: null,
    isolate: null,
    largeResults: "refuse",
  });
});

for (const [option, value, reason] of [
  ["timeOut", 5, /no option "timeOut".*timeoutMs/u],
  ["visibility", "secret", /visibility is "secret", expected "visible" or "hidden"/u],
  ["timeoutMs", 0, /timeoutMs is 0, expected a whole number of milliseconds/u],
  ["timeoutMs", 2 ** 32, /timeoutMs is 4294967296/u],
  ["costUsd", -1, /costUsd is -1/u],
  ["costUsd", Number.NaN, /costUsd is NaN/u],
  ["category", "", /category is ""/u],
  ["safetyLevel", "harmless", /safetyLevel is "harmless"/u],
  ["idempotent", "yes", /idempotent is "yes", expected true or false/u],
  ["metadata", [], /metadata is an array/u],
  ["description", 5, /description 5/u],
  ["execute", "later", /execute is "later", expected a function/u],
  ["name", "", /name ""/u],
  ["name", "\ud800", /name/u],
] as const) {
  test(`the option ${option} of ${JSON.stringify(value)} is refused`, (t) => {
    const options = { ...parts, [option]: value };
    const error = t.throws(() => defineTool(options), { instanceOf: ConfigurationError });
    t.regex(error?.message ?? "", reason);
  });
}

test("a registration wins over what the tool states, and fills what neither does", (t) => {
  const tool = defineTool({ ...parts, category: "data", costUsd: 2 });
  t.like(describeTool(register(tool, { costUsd: 3 })), {
    category: "data",
    safetyLevel: "restricted",
    costUsd: 3,
  });
  const { tools } = buildRegistry({
    tools: [register(register(tool, { category: "web" }), { visibleToAgents: false })],
  });
  t.like(tools[0]?.descriptor, { category: "web", hidden: true, safetyLevel: "restricted" });
  t.is(tools[0]?.source, tool);
});

test("a registration with an option that does not exist is refused", (t) => {
  const options = { safety: "safe" } as object;
  t.throws(() => register({}, options), {
    instanceOf: ConfigurationError,
    message: /register has no option "safety".*safetyLevel/u,
  });
});

test("anything at all has a descriptor", (t) => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error("no");
      },
    },
  );
  for (const value of [null, undefined, 5, "x", Symbol("s"), () => 1, Date, [], hostile]) {
    const reading = describeTool(value);
    t.not(reading.name, "");
    t.deepEqual(reading.inputSchema, { type: "object", properties: {} });
  }
  t.like(describeTool({ name: " ", description: "d" }), { name: " ", toolName: " " });
});
