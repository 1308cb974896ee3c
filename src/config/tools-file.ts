import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { isToolsDefinition, type ToolsDefinition } from "../define-tools.ts";
import { ConfigurationError, isToolPortError } from "../errors.ts";
import {
  describeFunctions,
  type DescribeOptions,
  type FunctionsReport,
} from "../functions/describe-functions.ts";
import { after } from "../internal/timers.ts";

const loadTimeoutMs = 60_000;
/** This package's own modules, sources or built. */
const packageRoot = join(import.meta.dirname, "../");
const hint = "export default defineTools({ tools: [...] })";

/**
 * Loads a tools file and returns its default export. TypeScript is run as it is, its types stripped;
 * the file runs with all the rights of this process. Plain functions among its tools are described:
 * by the schema file beside it where that is fresh, else by their source.
 *
 * @param path relative to the working directory, or absolute
 * @throws ConfigurationError in one sentence: no such file, one that throws while it is loaded (with
 *   the line of the file), one without a default export, or one whose default export is not made by
 *   `defineTools`; or where plain functions can't be described without a compiler
 */
export async function loadToolsFile(path: string): Promise<ToolsDefinition> {
  const { definition } = await loadTools(path);
  return definition;
}

/** The same, with how its plain functions were described. */
export async function loadTools(
  path: string,
  options: DescribeOptions = {},
): Promise<{ readonly definition: ToolsDefinition; readonly functions: FunctionsReport }> {
  const file = resolve(path);
  requireFile(path, file);
  const module = await importFile(path, file);
  const exported = module["default"];
  if (isToolsDefinition(exported)) {
    const loaded = { file, definition: exported, namespace: module };
    return { definition: exported, functions: await describeFunctions(loaded, options) };
  }
  throw new ConfigurationError(`${path} ${describeExport(module)}: write \`${hint}\``);
}

function requireFile(path: string, file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new ConfigurationError(`${path} does not exist: give the path of a tools file`);
  if (!stats.isFile()) {
    throw new ConfigurationError(`${path} is not a file: give the path of a tools file`);
  }
}

async function importFile(path: string, file: string): Promise<Record<string, unknown>> {
  const late = Promise.withResolvers<never>();
  // The timer also keeps the process up while the file awaits something that never comes.
  const timer = after(loadTimeoutMs, () =>
    late.reject(new ConfigurationError(`${path} did not finish loading within 60 s`)),
  );
  try {
    return await Promise.race([import(pathToFileURL(file).href), late.promise]);
  } catch (error) {
    if (error instanceof ConfigurationError && !error.stack?.includes(file)) throw error;
    throw new ConfigurationError(loadFailure(path, file, error), { cause: error });
  } finally {
    timer.stop();
  }
}

function loadFailure(path: string, file: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const text = textOf(error);
  if (code === "ERR_MODULE_NOT_FOUND") {
    const missing = text.replace(/^Error: /u, "").replace(/ imported from .*$/u, "");
    const source = sourceMeantBy(missing);
    const advice = source ? `import ${source} by its own name` : "install it or mend the import";
    return `${path} cannot be loaded: ${missing}; ${advice}`;
  }
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    return `${path}${placeIn(error, file) ?? importedPlace(error, file)} uses TypeScript that is more than types, which Node cannot run: ${text}; write an enum as an object "as const", and a parameter property as a field`;
  }
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") {
    return `${basename(file)} is of no known kind: expected a .ts, .mts, .js or .mjs file`;
  }
  const commonJs = error instanceof SyntaxError ? commonJsPackageOf(file) : undefined;
  if (commonJs !== undefined && /import|export/u.test(text)) {
    return `${path} is read as CommonJS, since ${commonJs} says so: write "type": "module" there, or name the file .mts`;
  }
  const place =
    placeIn(error, file) ??
    ((error instanceof SyntaxError && syntaxErrorIn(file)) || importedPlace(error, file));
  if (isOfConfiguration(error)) return `${path}${place.replace(/, which$/u, "")}: ${text}`;
  return `${path}${place} throws while it is loaded: ${text}`;
}

/** The TypeScript file that an import without an extension, or with that of JavaScript, means. */
function sourceMeantBy(missing: string): string | undefined {
  const imported = /^Cannot find module '(.+)'$/u.exec(missing)?.[1];
  const stem = imported?.replace(/\.js$/u, "");
  return stem !== undefined && existsSync(`${stem}.ts`) ? `${basename(stem)}.ts` : undefined;
}

/** The package.json that makes a file CommonJS by what it says. */
function commonJsPackageOf(file: string): string | undefined {
  if (![".ts", ".js"].includes(extname(file))) return undefined;
  const found = findPackageJSON(pathToFileURL(file));
  // Where there is none, Node names the file itself.
  if (found === undefined || basename(found) !== "package.json") return undefined;
  const { type } = JSON.parse(readFileSync(found, "utf8")) as { readonly type?: unknown };
  return type === "commonjs" ? found : undefined;
}

/** Whether it is a complaint of this package's, by whichever copy of it. */
function isOfConfiguration(error: unknown): boolean {
  return isToolPortError(error) && error.code === "CONFIGURATION";
}

/** `:12` where the error says that it came from line 12 of the file. */
function placeIn(error: unknown, file: string): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const name of [pathToFileURL(file).href, file]) {
    const at = stack.indexOf(`${name}:`);
    const line = at < 0 ? undefined : /^\d+/u.exec(stack.slice(at + name.length + 1))?.[0];
    if (line !== undefined) return `:${line}`;
  }
  return undefined;
}

/** ` imports lib.ts:12, which` where the error comes from a module that the file imports; else nothing. */
function importedPlace(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const [, url = "", line = ""] of stack.matchAll(/(file:\/\/[^\s()]+?):(\d+)/gu)) {
    const module = fileURLToPath(url);
    if (module === file) return "";
    // What goes wrong inside a package was asked for by a module of the author's.
    if (module.startsWith(packageRoot) || module.includes("/node_modules/")) continue;
    return ` imports ${relative(dirname(file), module)}:${line}, which`;
  }
  return "";
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message.trim().replace(/\s*\n\s*/gu, " ");
  return isOfConfiguration(error) ? message : `${error.name}: ${message}`;
}

/** For JavaScript the loader keeps the line of a syntax error to itself; its check tells it. */
function syntaxErrorIn(file: string): string {
  if (!/\.m?js$/u.test(file)) return "";
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8" });
  return stderr.startsWith(`${file}:`) ? (/^:\d+/u.exec(stderr.slice(file.length))?.[0] ?? "") : "";
}

function describeExport(module: Record<string, unknown>): string {
  if (!("default" in module)) {
    const names = Object.keys(module);
    return names.length === 0
      ? "exports nothing"
      : `has no default export (it exports ${names.join(", ")})`;
  }
  const exported = module["default"];
  if (Array.isArray(exported)) return "exports a plain array, which is not made by defineTools";
  return `has a default export that is not made by defineTools (it is ${kindOf(exported)})`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value instanceof Promise) return "a promise: await it in the file";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
