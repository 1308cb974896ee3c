/**
 * What plain functions cost at the start: `node bench/start-up.ts [functions] [rounds]`.
 *
 * Starts `toolport serve` of the built package on a tools file of 200 documented functions, in ten
 * modules with types of their own, and takes the time from the start of the process to its ready
 * line: uncached, where the compiler reads the source; cached, by the schema file beside the tools
 * file; and, for what is not theirs, on a tools file without functions. Rounds are interleaved.
 *
 * On two cores, with Node 24.21, medians of 7: 1,243 ms uncached, 309 ms cached, 232 ms without any.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const functions = Number(process.argv[2] ?? 200);
const rounds = Number(process.argv[3] ?? 9);
const modules = 10;

const types = `
/** A code of the stock. @pattern ^[A-Z]{3}-[0-9]{4}$ */
type Sku = string;
interface Place { readonly street: string; city: string; /** Two letters. */ country?: string }
interface Line { sku: Sku; /** How many. @minimum 1 */ count: number; note?: string | null }
interface Order { id: bigint; to: Place; lines: Line[]; due?: Date; tags: Record<string, string> }
type Pay = { kind: "card"; number: string } | { kind: "bill"; days: 14 | 30 };
interface Part { name: string; parts?: Part[] }
`;

const root = join(import.meta.dirname, "..");
const main = join(root, "dist/src/cli/main.js");
const entry = pathToFileURL(join(root, "dist/src/index.js")).href;
if (!existsSync(main)) throw new Error("dist is missing: run `npm run build` first");

const folder = mkdtempSync(join(tmpdir(), "start-up-bench-"));
try {
  const tools = writeTools(functions);
  const empty = join(folder, "empty.ts");
  writeFileSync(
    empty,
    `import { defineTools } from "${entry}";\nexport default defineTools({});\n`,
  );
  const schemas = `${tools}.schema.json`;
  const aside = `${schemas}.aside`;
  const { status, stderr } = spawnSync(process.execPath, [main, "schema", tools]);
  if (status !== 0) throw new Error(String(stderr));
  const results: Record<string, number[]> = { uncached: [], cached: [], "without functions": [] };
  for (let round = 0; round < rounds; round += 1) {
    renameSync(schemas, aside);
    results["uncached"]?.push(await startMs(tools));
    renameSync(aside, schemas);
    results["cached"]?.push(await startMs(tools));
    results["without functions"]?.push(await startMs(empty));
  }
  print(results);
} finally {
  rmSync(folder, { recursive: true });
}

/** From the start of the process to its ready line, in milliseconds. */
async function startMs(tools: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [main, "serve", tools, "--log-level", "error"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<undefined>((resolve) => {
    child.once("exit", () => resolve(undefined));
  });
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once("line", resolve);
  });
  const line = await Promise.race([ready, ended]);
  const took = performance.now() - start;
  child.kill("SIGTERM");
  await ended;
  if (line === undefined) throw new Error(`${tools} was not served`);
  return took;
}

function writeTools(count: number): string {
  const imports: string[] = [];
  const names: string[] = [];
  for (let at = 0; at < modules; at += 1) {
    const own = Array.from({ length: count }, (_, n) => n).filter((n) => n % modules === at);
    writeFileSync(join(folder, `module${at}.ts`), `${types}\n${own.map(functionText).join("\n")}`);
    imports.push(`import { ${own.map((n) => `tool${n}`).join(", ")} } from "./module${at}.ts";`);
    names.push(...own.map((n) => `tool${n}`));
  }
  const path = join(folder, "tools.ts");
  const offered = `export default defineTools({ tools: [${names.join(", ")}] });\n`;
  writeFileSync(path, `import { defineTools } from "${entry}";\n${imports.join("\n")}\n${offered}`);
  return path;
}

/** One of five kinds. */
function functionText(n: number): string {
  const doc = `/**\n * Does what number ${n} does.\n *\n * @param first What to begin with.\n * @category bench\n */`;
  const kinds = [
    `export async function tool${n}(first: Order, pay: Pay): Promise<{ ok: boolean; total: number }> { void [first, pay]; return { ok: true, total: ${n} }; }`,
    `export function tool${n}(first: string, limit = ${n}, ...more: string[]): string { return [first, limit, ...more].join(); }`,
    `export const tool${n} = (first: Partial<Place>, by: keyof Place): unknown => first[by];`,
    `export async function* tool${n}(first: Part, signal: AbortSignal): AsyncGenerator<string> { signal.throwIfAborted(); yield first.name; }`,
    `export function tool${n}(first: Pick<Order, "id" | "lines">, pair: [Sku, number?]): number { return first.lines.length + pair.length; }`,
  ];
  return `${doc}\n${kinds[Math.floor(n / modules) % kinds.length]}`;
}

function print(results: Readonly<Record<string, readonly number[]>>): void {
  console.log(`${functions} plain functions, medians of ${rounds} starts, ready after`);
  console.table(
    Object.fromEntries(
      Object.entries(results).map(([name, all]) => [
        name,
        {
          "median ms": Math.round(median(all)),
          "fastest ms": Math.round(Math.min(...all)),
          "slowest ms": Math.round(Math.max(...all)),
        },
      ]),
    ),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
