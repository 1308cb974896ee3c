import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type ExecutionContext } from "ava";
import { loadTools } from "../../src/config/tools-file.ts";
import { type Finished, Workplace } from "../cli/lib/run-cli.ts";

const source = `import { defineTools } from "toolport";
import type { Size } from "./size.ts";

/** Cuts a board. */
export function cut(size: Size): string {
  return JSON.stringify(size);
}

export default defineTools({ tools: [cut] });
`;
const sizes = "/** In millimetres. */\nexport interface Size { width: number; height?: number }\n";

interface Bench {
  readonly place: Workplace;
  readonly tools: string;
  readonly schemas: string;
  readonly sizes: string;
  run(...args: readonly string[]): Promise<Finished & { readonly answer: Answer }>;
}

type Answer = Readonly<Record<string, unknown>>;

function bench(t: ExecutionContext): Bench {
  const place = new Workplace();
  t.teardown(() => place.remove());
  const tools = place.write("tools.ts", source);
  return {
    place,
    tools,
    schemas: `${tools}.schema.json`,
    sizes: place.write("size.ts", sizes),
    async run(...args) {
      const finished = await place.run([...args, "--output", "json"]);
      return { ...finished, answer: JSON.parse(finished.stdout || "{}") as Answer };
    },
  };
}

test("schema writes what was read beside the tools file, and check says how fresh it is", async (t) => {
  const { tools, schemas, run } = bench(t);
  t.like((await run("check", tools)).answer, { ok: true, schemas: "none" });
  const missing = await run("schema", tools, "--check");
  t.is(missing.code, 1);
  t.like(missing.answer, { state: "missing", functions: 1 });
  const written = await run("schema", tools);
  t.is(written.code, 0, written.stderr);
  t.like(written.answer, { file: schemas, state: "written", functions: 1 });
  t.like((await run("check", tools)).answer, { schemas: "fresh", warnings: [] });
  t.like(await run("schema", tools, "--check"), { code: 0, answer: { state: "unchanged" } });
  const text = readFileSync(schemas, "utf8");
  await run("schema", tools);
  t.is(readFileSync(schemas, "utf8"), text);
});

test("a changed type makes the schema file stale: it is read anew, with a warning", async (t) => {
  const { tools, sizes: types, schemas, run } = bench(t);
  await run("schema", tools);
  writeFileSync(types, sizes.replace("height?", "height"));
  const stale = await run("check", tools);
  t.is(stale.code, 0);
  t.is(stale.answer["schemas"], "stale");
  t.regex(
    String(stale.answer["warnings"]),
    /tools\.ts\.schema\.json is stale \(size\.ts has changed\): write it again with `toolport schema tools\.ts`/u,
  );
  const call = await run("call", "cut", "--json", '{"size":{"width":1}}', "--tools", tools);
  t.regex(String(call.answer["error"]), /size\.height is missing/u);
  t.like(await run("schema", tools, "--check"), { code: 1, answer: { state: "stale" } });
  t.like(await run("schema", tools), { code: 0, answer: { state: "written" } });
  t.like((await run("check", tools)).answer, { schemas: "fresh", warnings: [] });
  t.true(readFileSync(schemas, "utf8").includes('"required"'));
});

test("a schema file is used as it is while the sources are the same, whatever their line ends", async (t) => {
  const { tools, sizes: types, schemas, run } = bench(t);
  await run("schema", tools);
  writeFileSync(types, sizes.replaceAll("\n", "\r\n"));
  // What it says is believed, so that the compiler is not needed.
  writeFileSync(schemas, readFileSync(schemas, "utf8").replace("Cuts a board.", "Saws a board."));
  const { definition, functions } = await loadTools(tools);
  t.like(functions, { count: 1, from: "schema-file", stale: undefined });
  t.is(definition.tools.length, 1);
  const { answer } = await run("manifest", "--tools", tools);
  t.regex(JSON.stringify(answer["tools"]), /Saws a board\./u);
});

for (const [what, text, why] of [
  ["is no JSON", "{", "it is no JSON"],
  ["is of another kind", '{"a":1}', "it is no schema file"],
  [
    "another version wrote",
    '{"toolport":0,"functions":[],"files":{},"packages":{}}',
    "another version of toolport wrote it",
  ],
] as const) {
  test(`a schema file that ${what} is read past, with a warning`, async (t) => {
    const { tools, schemas, run } = bench(t);
    writeFileSync(schemas, text);
    const { code, answer } = await run("check", tools);
    t.is(code, 0);
    t.is(answer["schemas"], "stale");
    t.true(String(answer["warnings"]).includes(`is stale (${why})`), String(answer["warnings"]));
  });
}

test("a schema file goes with the last plain function, and a refused one leaves it as it was", async (t) => {
  const { place, tools, schemas, run } = bench(t);
  await run("schema", tools);
  const before = readFileSync(schemas, "utf8");
  place.write("tools.ts", source.replace("/** Cuts a board. */", ""));
  const refused = await run("schema", tools);
  t.is(refused.code, 2);
  t.regex(refused.stderr, /tools\.ts:5: cut has no doc comment/u);
  t.is(readFileSync(schemas, "utf8"), before);
  place.write(
    "tools.ts",
    'import { defineTools } from "toolport";\nexport default defineTools({});\n',
  );
  t.like(await run("schema", tools, "--check"), { code: 1, answer: { state: "stale" } });
  t.like((await run("schema", tools)).answer, { state: "removed", functions: 0 });
  t.throws(() => readFileSync(schemas), { code: "ENOENT" });
  t.like((await run("schema", tools)).answer, { state: "none", functions: 0 });
});

test("functions of other modules are found, and their names in the schema file are portable", async (t) => {
  const { place, schemas, run } = bench(t);
  place.write("lib.ts", "/** Doubles. */\nexport const double = (n: number): number => n * 2;\n");
  const tools = place.write(
    "tools.ts",
    `import { defineTools } from "toolport";\nimport { double } from "./lib.ts";\n` +
      "export default defineTools({ capabilities: [{ name: 'maths', tools: [double] }] });\n",
  );
  await run("schema", tools);
  const text = readFileSync(schemas, "utf8");
  t.false(text.includes(place.path));
  t.like(JSON.parse(text), { functions: [{ module: "lib.ts", export: "double" }] });
  t.like((await run("check", tools)).answer, { schemas: "fresh", tools: ["double"] });
  rmSync(join(place.path, "size.ts"));
  t.like((await run("check", tools)).answer, { schemas: "fresh" });
});
