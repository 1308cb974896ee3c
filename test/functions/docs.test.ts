import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { traitTagNames } from "../../src/functions/compiler/function-tags.ts";
import { schemaTagNames } from "../../src/functions/compiler/schema-tags.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { loadSource } from "./lib/source.ts";
import { inputOf, run } from "./lib/tool.ts";

const docs = readFileSync(join(import.meta.dirname, "../../docs/functions.md"), "utf8");

/** The code of the first block in a language. */
function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "msu").exec(docs)?.[1] ?? "";
}

/** The cells of a table's rows, by the text of its first heading. */
function rowsOf(heading: string): readonly (readonly string[])[] {
  const [, table = ""] = docs.split(new RegExp(`^\\| ${heading} +\\|.*\\n.*\\n`, "mu"));
  return (/^(?:\|.*\n?)+/u.exec(table)?.[0] ?? "")
    .trim()
    .split("\n")
    .map((row) =>
      row
        .split(/(?<!\\)\|/u)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("\\|", "|")),
    );
}

/** What stands between backticks. */
function code(cell: string | undefined): string {
  return /^(`+) ?(.*?) ?\1$/u.exec(cell ?? "")?.[2] ?? "";
}

test("the function that the docs show is the tool that they say", async (t) => {
  const { tool } = await loadSource(t, block("ts"), ["sendParcel"]);
  const parcel = tool("sendParcel");
  t.deepEqual(inputOf(parcel), JSON.parse(block("json")));
  t.like(parcel.descriptor, {
    description: "Sends a parcel and returns its tracking code.",
    category: "shipping",
    safetyLevel: "restricted",
    outputSchema: {
      type: "object",
      properties: { code: { type: "string" }, due: { type: "string", format: "date-time" } },
      required: ["code", "due"],
    },
  });
  const sent = await run(parcel, { to: { street: "Quay 1", city: "Bergen" }, grams: 20 });
  t.deepEqual(sent, { code: "NO-20", due: new Date(86_400_000) });
});

test("each type of the table has the schema beside it", async (t) => {
  const rows = rowsOf("type");
  t.true(rows.length > 25);
  const source = [
    "interface Point { x: number; y?: number }",
    "interface Tree { name: string; parts?: Tree[] }",
    ...rows.map(
      ([type], index) =>
        `/** Takes it. */\nexport function row${index}(value: ${code(type)}): void { void value; }`,
    ),
  ];
  const { tool } = await loadSource(
    t,
    source.join("\n"),
    rows.map((_, index) => `row${index}`),
  );
  rows.forEach(([type, schema], index) => {
    const advertised = inputOf(tool(`row${index}`)).properties?.["value"];
    t.deepEqual(advertised as unknown, JSON.parse(code(schema)), type);
  });
});

test("the tables name every tag, and no other", (t) => {
  const named = (heading: string): readonly string[] =>
    rowsOf(heading).flatMap(([tags = ""]) =>
      Array.from(tags.matchAll(/`@(\w+)`/gu), ([, tag]) => tag ?? ""),
    );
  t.deepEqual(named("tag of a value").toSorted(), [...schemaTagNames].toSorted());
  t.deepEqual(named("tag of a function").toSorted(), [...traitTagNames].toSorted());
});

test("what the docs say is refused is refused in their words", async (t) => {
  const rows = rowsOf("written");
  t.true(rows.length > 8);
  const beside = Object.fromEntries(
    rows.map(([written], index) => [
      `row${index}.ts`,
      `// A module of its own.\n${code(written)}\nexport const offered${index} = [f];\n`,
    ]),
  );
  const imports = rows.map((_, index) => `import { offered${index} } from "./row${index}.ts";`);
  const names = rows.map((_, index) => `offered${index}[0]`);
  const { definition } = await loadSource(t, imports.join("\n"), names, { beside });
  rows.forEach(([written, told], index) => {
    const error = t.throws(
      () => buildRegistry({ tools: [definition.tools[index]] }),
      undefined,
      written,
    );
    t.true(
      error?.message.includes(code(told).replace("tools.ts", `row${index}.ts`)),
      error?.message,
    );
  });
});
