import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import test from "ava";

import { connect } from "../../src/client/index.ts";
import {
  createToolPort,
  defineTool,
  defineTools,
  serve,
  type ToolsInput,
} from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "toolport-test-"));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

const greet = defineTool({
  name: "greet",
  description: "Greets.",
  parameters: { type: "object", properties: { name: { type: "string" } } },
  maxCallsPerInvocation: 1,
  execute: ({ name }) => `Hello, ${String(name)}`,
});

test("a tool port can be made and served without the command line", async (t) => {
  const port = createToolPort(
    defineTools({
      tools: [greet],
      capabilities: [
        { name: "more", tools: [{ name: "now", description: "Now.", execute: () => 1 }] },
      ],
      palettes: { host: ["greet"] },
      limits: { maxCallsInFlight: 7, maxMessageBytes: 1_000_000 },
    }),
    { limits: { maxMessageBytes: 2_000_000 } },
  );
  const server = await serve(port, { address: `unix:${join(folder, "a.sock")}` });
  const client = connect({ address: server.address });
  const manifest = await client.manifest();
  t.is(manifest.digest, port.registry.digest);
  t.like(manifest.server, { maxCallsInFlight: 7, maxMessageBytes: 2_000_000 });
  t.deepEqual(
    manifest.tools.map(({ name }) => name),
    ["greet", "now"],
  );
  const { result } = await client.select({ role: "host" });
  t.deepEqual(result?.tools, ["greet"]);
  const call = await client.execute({ name: "greet", arguments: { name: "Ada" } }).result;
  t.is(call.result, "Hello, Ada");
  const refused = await client.refuse({ name: "greet" }, "not now");
  t.is(refused.error, "not now");
  client.close();
  await server.close();
});

test("budgets hold only where the definition says so", async (t) => {
  for (const enforceBudgets of [true, false]) {
    const port = createToolPort(defineTools({ tools: [greet], enforceBudgets }));
    const address = `unix:${join(folder, `b-${enforceBudgets}.sock`)}`;
    const server = await serve(port, { address });
    const client = connect({ address });
    const again = async (): Promise<boolean> => {
      const call = await client.execute({ name: "greet", runId: "r", arguments: {} }).result;
      return call.error === undefined;
    };
    t.true(await again());
    t.is(await again(), !enforceBudgets);
    client.close();
    await server.close();
  }
});

const refused = test.macro({
  exec(t, input: unknown, message: RegExp) {
    t.throws(() => createToolPort(defineTools(input as ToolsInput)), {
      code: "CONFIGURATION",
      message,
    });
  },
  title: (given) => `defineTools refuses ${given}`,
});

test("an array", refused, [greet], /was given an array: expected an object, such as defineTools/);
test("nothing", refused, null, /expected an object/);
test("an unknown option", refused, { tools: [], palette: {} }, /has no option "palette": expected/);
test("tools that are no list", refused, { tools: greet }, /tools is object: expected an array/);
test("a budget that is neither", refused, { enforceBudgets: "yes" }, /enforceBudgets is neither/);
test("an unknown limit", refused, { limits: { calls: 1 } }, /limits has no calls: expected any of/);
test("a stage that is none", refused, { stages: [{}] }, /stage/);
test("two tools of one name", refused, { tools: [greet, greet] }, /tools\[1\].*'greet'.*already/);

test("createToolPort says what it was given too early", (t) => {
  t.throws(() => createToolPort({ tools: [greet] } as never), {
    code: "CONFIGURATION",
    message: /what defineTools did not make: write createToolPort\(defineTools/,
  });
});

test("a definition doesn't change with the object it was made of", (t) => {
  const tools: unknown[] = [greet];
  const definition = defineTools({ tools });
  tools.length = 0;
  t.is(definition.tools.length, 1);
  t.true(Object.isFrozen(definition));
});

test("names of palettes and intents that no tool bears are told", (t) => {
  const port = createToolPort(
    defineTools({
      tools: [greet],
      palettes: { host: ["greet", "great", "greed"], guest: ["greet"] },
      intent: { triggerKeywords: { greet: ["hello"], leave: ["bye"] }, alwaysInclude: ["hlp"] },
    }),
  );
  t.deepEqual(port.warnings, [
    'palettes["host"] names "great", "greed", which no tool is named',
    'intent.triggerKeywords names "leave", which no tool is named',
    'intent.alwaysInclude names "hlp", which no tool is named',
  ]);
});

test("palettes that are worked out are asked for nothing beforehand", (t) => {
  const tools = [greet];
  t.deepEqual(createToolPort(defineTools({ tools, palettes: () => ["great"] })).warnings, []);
  const palettes = { resolve: () => ["great"] };
  t.deepEqual(createToolPort(defineTools({ tools, palettes })).warnings, []);
});
