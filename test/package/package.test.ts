import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test from "ava";

const exec = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const project = await mkdtemp(join(tmpdir(), "toolport-consumer-"));
const readme = await readFile(join(root, "README.md"), "utf8");
const snippets = snippetsIn("ts");

test.before("a fresh project installs the packed package", async () => {
  const { devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const beside = ["zod", "@langchain/core", "@types/node"];
  const packed = await exec(
    "npm",
    ["pack", "--ignore-scripts", "--json", "--pack-destination", project],
    { cwd: root },
  );
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  await writeFile(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  await exec(
    "npm",
    [
      "install",
      "--prefer-offline",
      "--no-audit",
      "--no-fund",
      join(project, filename),
      ...beside.map((name) => `${name}@${devDependencies[name]}`),
    ],
    { cwd: project },
  );
  for (const [index, code] of snippets.entries()) {
    await writeFile(join(project, `snippet-${index}.ts`), code);
  }
  await writeFile(join(project, "consumer.ts"), consumer);
});

test.after.always("the project is removed", async () => {
  await rm(project, { recursive: true, force: true });
});

test("what the package exports can be imported by name", async (t) => {
  const script = `
    const [main, client, v1] = await Promise.all(
      ["toolport", "toolport/client", "toolport/v1"].map((name) => import(name)),
    );
    console.log(typeof main.defineTools, typeof client.connect, typeof v1.ToolPortService.method);
  `;
  const { stdout } = await inProject("node", ["--input-type=module", "--eval", script]);
  t.is(stdout, "function function object\n");
});

for (const [resolution, module] of [
  ["nodenext", "nodenext"],
  ["bundler", "esnext"],
] as const) {
  test(`a consumer type-checks under ${resolution} resolution, declarations included`, async (t) => {
    const options = { module, moduleResolution: resolution, exactOptionalPropertyTypes: true };
    t.is(await typeCheck(resolution, ["consumer.ts"], options), "");
  });
}

test("the README's snippets type-check", async (t) => {
  const files = snippets.map((_, index) => `snippet-${index}.ts`);
  // LangChain's own declarations are not clean.
  t.is(await typeCheck("readme", files, { module: "nodenext", skipLibCheck: true }), "");
});

test("the installed command says how it is used", async (t) => {
  const { stdout } = await inProject(join(project, "node_modules", ".bin", "toolport"), ["--help"]);
  t.regex(stdout, /serve/u);
  t.regex(stdout, /call/u);
});

test("the README's first tool can be called as the README says", async (t) => {
  const command = join(project, "node_modules", ".bin", "toolport");
  const words = ["call", "count_words", "text=to be or not to be", "top=2"];
  const { stdout } = await inProject(command, [...words, "--tools", "snippet-0.ts"]);
  t.regex(stdout, /"?words"?:? *6/u);
});

test("every tools file of the README passes the check", async (t) => {
  const command = join(project, "node_modules", ".bin", "toolport");
  for (const [index, code] of snippets.entries()) {
    if (!code.includes("export default defineTools")) continue;
    await t.notThrowsAsync(inProject(command, ["check", `snippet-${index}.ts`]));
  }
});

test("the README's Python kernel drives the README's tools", async (t) => {
  await copyFile(join(project, "snippet-0.ts"), join(project, "tools.ts"));
  await writeFile(join(project, "kernel.py"), snippet("python"));
  const { stdout } = await inProject(join(root, ".venv", "bin", "python"), ["kernel.py"]);
  t.regex(stdout, /count_words: Counts the words/u);
  t.regex(stdout, /'words': 6/u);
});

test("the README's Go kernel drives the README's tools", async (t) => {
  const module = join(project, "go");
  await mkdir(module);
  await copyFile(join(project, "snippet-0.ts"), join(module, "tools.ts"));
  await writeFile(join(module, "kernel.go"), snippet("go"));
  const modules = await readFile(join(root, "examples", "go.mod"), "utf8");
  const client = join(root, "clients", "go");
  await writeFile(join(module, "go.mod"), modules.replace("../clients/go", client));
  await copyFile(join(root, "examples", "go.sum"), join(module, "go.sum"));
  const { stdout } = await inProject("go", ["run", "."], module);
  t.regex(stdout, /"words":6/u);
});

test("without a compiler, plain functions are what the schema file that ships with them says", async (t) => {
  const command = join(project, "node_modules", ".bin", "toolport");
  await writeFile(join(project, "functions.ts"), functions);
  const missing = await t.throwsAsync(inProject(command, ["check", "functions.ts"]));
  t.regex(missing?.message ?? "", /there is no functions\.ts\.schema\.json: write it with/u);
  // Where it is developed, the compiler is there.
  await inProject(process.execPath, [join(root, "dist/src/cli/main.js"), "schema", "functions.ts"]);
  const { stdout } = await inProject(command, ["check", "functions.ts"]);
  t.like(JSON.parse(stdout), { ok: true, tools: ["days"], schemas: "fresh", warnings: [] });
  const words = ["call", "days", "from=2031-02-03T00:00:00Z", "count=2", "--tools", "functions.ts"];
  const called = await inProject(command, words);
  t.like(JSON.parse(called.stdout), { result: "2031-02-05T00:00:00.000Z" });
  await writeFile(join(project, "functions.ts"), functions.replace("count = 1", "count = 2"));
  const stale = await t.throwsAsync(inProject(command, ["check", "functions.ts"]));
  t.regex(stale?.message ?? "", /is stale \(functions\.ts has changed\).*install typescript@7/u);
});

const functions = `import { defineTools, type ToolContext } from "toolport";

/** Adds days to a date. */
export function days(from: Date, count = 1, ctx?: ToolContext): string {
  ctx?.progress(1, 1);
  return new Date(from.getTime() + count * 86_400_000).toISOString();
}

export default defineTools({ tools: [days] });
`;

const consumer = `import { connect } from "toolport/client";
import { defineTool, defineTools, isToolPortError, ToolPortError } from "toolport";
import { ErrorKind, type ToolCall } from "toolport/v1";
import { z } from "zod";

const typed = defineTool({
  name: "typed",
  description: "Its arguments have the schema's types.",
  parameters: z.object({ n: z.number().default(1), when: z.string().optional() }),
  execute({ n, when }, ctx): string {
    const sum: number = n + 1;
    const maybe: string | undefined = when;
    ctx.progress(1, 2, "half");
    // @ts-expect-error there is no such argument
    void ((args: Parameters<typeof typed.execute>[0]) => args.missing);
    return \`\${sum} \${maybe ?? ""}\`;
  },
});

export default defineTools({ tools: [typed] });

export async function use(address: string): Promise<ToolCall | undefined> {
  const port = connect({ address });
  try {
    for await (const event of port.execute({ name: "typed", arguments: { n: 1 } })) {
      if (event.case === "call" && event.value.errorKind === ErrorKind.UNSPECIFIED) return event.value;
    }
    return undefined;
  } catch (error) {
    if (isToolPortError(error) && error.code === "UNREACHABLE") throw new ToolPortError("INTERNAL", "x");
    throw error;
  } finally {
    port.close();
  }
}
`;

async function typeCheck(
  name: string,
  files: readonly string[],
  options: Record<string, unknown>,
): Promise<string> {
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "dom"],
    types: ["node"],
    strict: true,
    noEmit: true,
    ...options,
  };
  const config = `tsconfig.${name}.json`;
  await writeFile(join(project, config), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, "node_modules", ".bin", "tsc");
  return (await inProject(tsc, ["-p", config])).stdout;
}

async function inProject(
  command: string,
  args: readonly string[],
  cwd: string = project,
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await exec(command, args, { cwd });
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout ?? ""}`, { cause: error });
  }
}

/** The README's code in one language, block by block. */
function snippetsIn(language: string): string[] {
  const blocks = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gmsu");
  return [...readme.matchAll(blocks)].map(([, code]) => code ?? "");
}

function snippet(language: string): string {
  return snippetsIn(language)[0] ?? "";
}
