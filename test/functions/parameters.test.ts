import test from "ava";
import { loadSource } from "./lib/source.ts";
import { inputOf, run } from "./lib/tool.ts";

test("a lone named object is one argument of its name, and a destructured one is its members", async (t) => {
  const source = `
/** Takes options by name. */
export function named(options: { city: string; days?: number }): string {
  return JSON.stringify(options);
}
/** Takes options apart. */
export function apart({ city, days = 3 }: { city: string; days?: number } = { city: "Oslo" }): string {
  return \`\${city} \${days}\`;
}`;
  const { tool } = await loadSource(t, source, ["named", "apart"]);
  const members = { city: { type: "string" }, days: { type: "number" } };
  t.deepEqual(inputOf(tool("named")), {
    type: "object",
    properties: { options: { type: "object", properties: members, required: ["city"] } },
    required: ["options"],
  });
  t.is(await run(tool("named"), { options: { city: "Bergen" } }), '{"city":"Bergen"}');
  t.deepEqual(Object.keys(inputOf(tool("apart")).properties ?? {}), ["city", "days"]);
  t.is(await run(tool("apart"), { city: "Bergen" }), "Bergen 3");
});

test("the signal and the context are given, wherever they stand, and not advertised", async (t) => {
  const source = `import type { ToolContext } from "toolport";
/** Waits. */
export function last(text: string, signal?: AbortSignal): string {
  return \`\${text} \${signal instanceof AbortSignal}\`;
}
/** Tells its call. */
export function first(ctx: ToolContext, { text }: { text: string }): string {
  return \`\${text} \${ctx.callId}\`;
}`;
  const { tool } = await loadSource(t, source, ["last", "first"]);
  for (const name of ["last", "first"]) {
    t.deepEqual(inputOf(tool(name)).properties, { text: { type: "string" } });
  }
  t.is(await run(tool("last"), { text: "a" }), "a true");
  t.is(await run(tool("first"), { text: "a" }), "a call-1");
});

test("what is left out is left to the function's own default", async (t) => {
  const source = `
/** Counts what it was given. */
export function given(a: string, b = \`\${a}!\`, ...more: string[]): string {
  return JSON.stringify([a, b, more, arguments.length]);
}`;
  const { tool } = await loadSource(t, source, ["given"]);
  t.deepEqual(inputOf(tool("given")).required, ["a"]);
  t.is(await run(tool("given"), { a: "x" }), '["x","x!",[],1]');
  t.is(await run(tool("given"), { a: "x", more: ["y"] }), '["x","x!",["y"],3]');
});

test("a bigint beyond 2^53 keeps its digits as a default, a bound and a literal", async (t) => {
  const source = `
/** Defaults. */
export function defaults(a = 12345678901234567890n, b: { c?: bigint } = { c: 98765432109876543210n }): string {
  return \`\${a} \${b.c}\`;
}
/**
 * Bounds.
 * @param a One. @default 1234567890123456789 @maximum 1234567890123456789
 */
export function bound(a: bigint): string { return \`\${typeof a} \${a}\`; }
/** Literals. */
export function literal(a: 1234567890123456789n | 1n): string { return \`\${typeof a} \${a}\`; }`;
  const { tool } = await loadSource(t, source, ["defaults", "bound", "literal"]);
  t.is(await run(tool("defaults"), {}), "12345678901234567890 98765432109876543210");
  t.is(await run(tool("bound"), {}), "bigint 1234567890123456789");
  for (const a of [1234567890123456789n, "1234567890123456789"]) {
    t.is(await run(tool("literal"), { a }), "bigint 1234567890123456789");
    t.is(await run(tool("bound"), { a }), "bigint 1234567890123456789");
  }
  for (const a of [1234567890123456790n, "1234567890123456790"]) {
    await t.throwsAsync(run(tool("literal"), { a }), { message: /^a must be /u });
    await t.throwsAsync(run(tool("bound"), { a }), {
      message: /^a must be .*1234567890123456789/u,
    });
  }
});

test("JavaScript states its types in its doc comments", async (t) => {
  const source = `
import { defineTools } from "toolport";
/**
 * Adds.
 * @param {number} a The first.
 * @param {number} [b] The second.
 */
export function add(a, b = 2) { return a + b; }
export default defineTools({ tools: [add] });`;
  const { tool } = await loadSource(t, source, ["add"], { file: "tools.js" });
  t.deepEqual(inputOf(tool("add")), {
    type: "object",
    properties: {
      a: { type: "number", description: "The first." },
      b: { type: "number", description: "The second.", default: 2 },
    },
    required: ["a"],
  });
});
