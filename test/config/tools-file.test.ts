import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import test from "ava";

import { loadToolsFile } from "../../src/config/tools-file.ts";

const folder = mkdtempSync(join(tmpdir(), "toolport-test-"));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));
const entry = pathToFileURL(join(import.meta.dirname, "../../src/define-tools.ts")).href;

mkdirSync(join(folder, "commonjs"));
write(join("commonjs", "package.json"), '{ "type": "commonjs" }');

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test("a file whose default export defineTools made is loaded", async (t) => {
  const path = write(
    "good.ts",
    `import { defineTools } from ${JSON.stringify(entry)};
     const limit: number = 5;
     export default defineTools({ tools: [], limits: { drainGraceMs: limit } });`,
  );
  const definition = await loadToolsFile(path);
  t.is(definition.limits.drainGraceMs, 5);
  t.true(Object.isFrozen(definition));
});

const refused = test.macro({
  async exec(t, name: string, text: string, expected: RegExp) {
    const error = await t.throwsAsync(loadToolsFile(write(name, text)), { code: "CONFIGURATION" });
    t.regex(error?.message ?? "", expected);
    t.notRegex(error?.message ?? "", /\n/u);
  },
  title: (given) => `a tools file ${given} is refused in one sentence`,
});

test(
  "that throws",
  refused,
  "throws.ts",
  '\n\nthrow new RangeError("out\\nof order");',
  /throws\.ts:3 throws while it is loaded: RangeError: out of order$/,
);
test(
  "that throws text",
  refused,
  "text.ts",
  'throw "just text";',
  /throws while it is loaded: just text$/,
);
test(
  "that throws undefined",
  refused,
  "none.ts",
  "throw undefined;",
  /throws while it is loaded: undefined$/,
);
test(
  "with a syntax error",
  refused,
  "syntax.mjs",
  "\nconst a = ;\n",
  /syntax\.mjs:2 throws while it is loaded: SyntaxError: /,
);
test(
  "in TypeScript with a syntax error",
  refused,
  "syntax.ts",
  "import 'node:fs';\nconst a: {: string } = 1;\n",
  /syntax\.ts:2 throws while it is loaded: SyntaxError: /,
);
test(
  "that imports a missing package",
  refused,
  "missing.ts",
  'import "no-such-package-at-all";',
  /cannot be loaded: Cannot find package 'no-such-package-at-all'; install it/,
);
test(
  "that imports a missing file",
  refused,
  "missing2.ts",
  'import "./not-there.ts";',
  /cannot be loaded: Cannot find module '.*not-there\.ts'; install it or mend/,
);
write("beside.ts", "export const beside = 1;");
for (const specifier of ["./beside", "./beside.js"]) {
  test(
    `that imports ${specifier} where beside.ts is meant`,
    refused,
    `imports-${specifier.length}.ts`,
    `import ${JSON.stringify(specifier)};`,
    /cannot be loaded: Cannot find module '.*'; import beside\.ts by its own name$/,
  );
}
test(
  "that its package makes CommonJS",
  refused,
  join("commonjs", "tools.ts"),
  'import "node:fs";\nexport default 1;',
  /tools\.ts is read as CommonJS, since .*package\.json says so: write "type": "module" there, or name the file \.mts$/,
);
test(
  "with an enum",
  refused,
  "enum.ts",
  "enum A { B }\nexport default A;",
  /uses TypeScript that is more than types.*; write an enum as an object "as const"/,
);
// Node says where it stands in modules that are known to be none of CommonJS.
write("lib-enum.mts", "// A colour.\nexport enum Color { Red }");
write("lib-broken.mts", "\nexport const a: = 1;");
write("lib-throws.ts", '\n\nexport const a = JSON.parse("{x");');
for (const [name, line, said] of [
  ["lib-enum.mts", 2, 'uses TypeScript that is more than types.*"as const"'],
  ["lib-broken.mts", 2, "throws while it is loaded: SyntaxError"],
  ["lib-throws.ts", 3, "throws while it is loaded: SyntaxError"],
] as const) {
  test(
    `that imports ${name}, which can't be loaded`,
    refused,
    `imports-${name}`,
    `import "./${name}";`,
    new RegExp(`imports-${name} imports ${name}:${line}, which ${said}`, "u"),
  );
}
test(
  "that exports nothing",
  refused,
  "nothing.ts",
  "export {};",
  /exports nothing: write `export default defineTools/,
);
test(
  "without a default export",
  refused,
  "named.ts",
  "export const tools = [];",
  /has no default export \(it exports tools\): write/,
);
test(
  "that exports a plain array",
  refused,
  "array.ts",
  "export default [];",
  /exports a plain array, which is not made by defineTools: write `export default defineTools\(\{ tools: \[\.\.\.\] \}\)`$/,
);
test(
  "that exports an object",
  refused,
  "object.ts",
  "export default { tools: [] };",
  /not made by defineTools \(it is an object\)/,
);
test(
  "that exports a promise",
  refused,
  "promise.ts",
  "export default Promise.resolve(1);",
  /a promise: await it/,
);
test(
  "of another kind",
  refused,
  "tools.py",
  "x = 1",
  /tools\.py is of no known kind: expected a \.ts/,
);
test(
  "whose defineTools refuses its input",
  refused,
  "option.ts",
  `import { defineTools } from ${JSON.stringify(entry)};\nexport default defineTools({ tolls: [] } as never);`,
  /option\.ts:2: defineTools has no option "tolls": expected any of tools,/,
);

test("a file that does not exist and a directory are told apart", async (t) => {
  await t.throwsAsync(loadToolsFile(join(folder, "absent.ts")), {
    message: /absent\.ts does not exist: give the path of a tools file/,
  });
  await t.throwsAsync(loadToolsFile(folder), { message: /is not a file/ });
});
