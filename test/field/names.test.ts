import test from "ava";
import { createToolPort, defineTools, type JsonSchema } from "../../src/index.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind, ManifestFormat } from "../../src/wire/v1.ts";
import { serveField } from "./world.ts";

const named = (name: string): ReturnType<typeof defineTool> =>
  defineTool({ name, description: name, execute: () => `ran ${name}` });

test("B64 a name off Object.prototype is unknown until a tool bears it", async (t) => {
  const none = await serveField(t, { tools: [named("other")] });
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    const unknown = await none.call(name);
    t.is(unknown.errorKind, ErrorKind.UNKNOWN_TOOL);
    t.is(unknown.error, `unknown tool '${name}'`);
    t.is(unknown.name, name);
  }
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty"];
  const all = await serveField(t, { tools: names.map(named) });
  for (const name of names) t.is((await all.call(name)).result, `ran ${name}`);
});

test("B64 parameters off Object.prototype are only keys, and alter no prototype", async (t) => {
  const parameters = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"object"},"constructor":{"type":"string"}},"required":["constructor"]}',
  ) as JsonSchema;
  const tools = [
    defineTool({
      name: "keys",
      description: "d",
      parameters,
      execute: (args: object) => Object.keys(args),
    }),
  ];
  const { call } = await serveField(t, { tools });
  const answer = await call("keys", '{"__proto__":{"polluted":1},"constructor":"c"}');
  t.deepEqual(JSON.parse(answer.result ?? answer.error ?? ""), ["__proto__", "constructor"]);
  t.is((await call("keys", "{}")).errorKind, ErrorKind.INVALID_ARGUMENTS);
  t.false("polluted" in {});
});

const exotic = ["calendar.addEvent", "files/list", "my tool", "x".repeat(90)];

test("B65 any name is listed and run as it is", async (t) => {
  const { call, client } = await serveField(t, {
    capabilities: [{ name: "remote", tools: exotic.map(named) }],
  });
  t.deepEqual(
    (await client.manifest()).tools.map(({ name }) => name),
    exotic,
  );
  for (const name of exotic) t.is((await call(name)).result, `ran ${name}`);
});

for (const [format, allowed] of [
  ["OPENAI_CHAT", /^[a-zA-Z0-9_-]{1,64}$/u],
  ["OPENAI_RESPONSES", /^[a-zA-Z0-9_-]{1,64}$/u],
  ["ANTHROPIC", /^[a-zA-Z0-9_-]{1,64}$/u],
  ["GEMINI", /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/u],
] as const) {
  test(`B65 names for ${format} are safe, unique and stable, and lead back`, async (t) => {
    const serveSet = async (
      names: readonly string[],
    ): Promise<Readonly<Record<string, string>>> => {
      const { client, call } = await serveField(t, { tools: names.map(named) });
      const manifest = await client.manifest({ format: ManifestFormat[format] });
      for (const [given, name] of Object.entries(manifest.providerNames)) {
        t.regex(given, allowed);
        t.true(manifest.providerToolsJson.includes(`"name":${JSON.stringify(given)}`));
        t.is((await call(name)).result, `ran ${name}`);
      }
      return { ...manifest.providerNames };
    };
    const names = [...exotic, "my_tool"];
    const first = await serveSet(names);
    t.deepEqual(new Set(Object.values(first)), new Set(names));
    t.is(first["my_tool"], "my_tool");
    t.deepEqual(await serveSet(names.toReversed()), first);
  });
}

test("B66 a name that two hold stops the start, naming both", (t) => {
  const mail = { name: "send_mail", description: "d", execute: () => "" };
  t.throws(
    () =>
      createToolPort(
        defineTools({
          tools: [named("send_mail")],
          capabilities: [{ name: "a", tools: [mail] }],
        }),
      ),
    { code: "CONFIGURATION", message: /capability 'a'.*'send_mail'.*defineTools/u },
  );
  t.throws(
    () =>
      createToolPort(
        defineTools({
          capabilities: [
            { name: "a", tools: [mail] },
            { name: "b", tools: [mail] },
          ],
        }),
      ),
    { code: "CONFIGURATION", message: /capability 'b'.*'send_mail'.*capability 'a'/u },
  );
});

test("B67 names that differ in a character or in case are different tools", async (t) => {
  const names = ["list-files", "list_files", "List_Files"];
  const { call, client } = await serveField(t, {
    capabilities: [{ name: "disk", tools: names.map(named) }],
  });
  t.deepEqual(
    (await client.manifest()).tools.map(({ name }) => name),
    names,
  );
  for (const name of names) t.is((await call(name)).result, `ran ${name}`);
});
