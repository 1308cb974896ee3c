import test from "ava";
import { z } from "zod";
import { createToolPort, defineTools } from "../../src/index.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveField } from "./world.ts";

const named = (name: string): ReturnType<typeof defineTool> =>
  defineTool({ name, description: name, execute: () => name });

test("B14 a date among the parameters neither hides the tools nor itself", async (t) => {
  const tools = [
    named("first"),
    defineTool({
      name: "since",
      description: "Since",
      parameters: z.object({ since: z.date(), tag: z.string(), odd: z.symbol().optional() }),
      execute: ({ since, tag }) => `${since.toISOString()} ${tag}`,
    }),
    named("third"),
  ];
  const { call, client, schemaOf } = await serveField(t, { tools });
  const listed = (await client.manifest()).tools.map(({ name }) => name);
  t.deepEqual(listed, ["first", "since", "third"]);
  const { properties } = await schemaOf("since");
  t.like(properties?.["since"], { type: "string", format: "date-time" });
  t.deepEqual(properties?.["tag"], { type: "string" });
  t.deepEqual(properties?.["odd"], {});
  const answer = await call("since", '{"since":"2031-02-03T00:00:00Z","tag":"t"}');
  t.is(answer.result, "2031-02-03T00:00:00.000Z t");
});

const good = { name: "good", description: "Good", execute: () => "" };
const thrower = {
  name: "thrower",
  description: "Throws",
  get parameters(): never {
    throw new Error("no schema today");
  },
  execute: () => "",
};

const bad: readonly (readonly [string, object, RegExp])[] = [
  [
    "a schema that is no object's",
    { ...good, name: "text", parameters: { type: "string" } },
    /'text'/u,
  ],
  ["a number for a schema", { ...good, name: "number", parameters: 42 }, /'number'/u],
  ["an empty name", { ...good, name: "" }, /tools\[1\]|name/u],
  ["a schema getter that throws", thrower, /'thrower'.*no schema today/u],
];

for (const [title, tool, reason] of bad) {
  test(`B15 ${title} stops the start, naming capability, tool and reason`, (t) => {
    const definition = defineTools({ capabilities: [{ name: "crm", tools: [good, tool, {}] }] });
    const error = t.throws(() => createToolPort(definition), { code: "CONFIGURATION" });
    t.regex(error?.message ?? "", /capability 'crm'/u);
    t.regex(error?.message ?? "", reason);
  });
}

test("B19 the summary is the first line that is not blank, and the description stays whole", async (t) => {
  const descriptions = [
    "\n\n   Fetch a page.\n\nArgs: ...",
    "One line",
    "\r\n\tTabbed\r\nmore",
    "   ",
    undefined,
  ];
  const tools = descriptions.map((description, index) =>
    defineTool({ name: `t${index}`, description: description ?? "", execute: () => "" }),
  );
  const { client } = await serveField(t, { tools });
  const listed = (await client.manifest()).tools;
  t.deepEqual(
    listed.map(({ summary }) => summary),
    ["Fetch a page.", "One line", "Tabbed", "", ""],
  );
  t.deepEqual(
    listed.map(({ description }) => description),
    descriptions.map((description) => description ?? ""),
  );
});
