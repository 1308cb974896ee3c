import { basename, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

import type { ToolsDefinition } from "../define-tools.ts";
import { ConfigurationError } from "../errors.ts";
import {
  describeFunctionAs,
  type FunctionDescription,
  type PlainFunction,
  refuseFunction,
} from "../registry/plain-function.ts";
import { describeFunction } from "../registry/show.ts";
import { derive, hasCompiler } from "./derive.ts";
import { functionExports, functionsOf } from "./find-functions.ts";
import { locate } from "./locate.ts";
import {
  parseSchemas,
  readSchemaFile,
  schemaFileOf,
  schemaText,
  stalenessOf,
  type StoredSchemas,
  storeSchemas,
} from "./schema-file.ts";

/** A tools file that has been loaded. */
export interface LoadedFile {
  /** Its absolute path. */
  readonly file: string;
  readonly definition: ToolsDefinition;
  /** What it exports. */
  readonly namespace: Readonly<Record<string, unknown>>;
}

/** How descriptions are come by. */
export interface DescribeOptions {
  /** `derive` reads the source whatever the schema file says; default `reuse`. */
  readonly schemas?: "reuse" | "derive" | undefined;
}

/** Where the descriptions of a tools file's plain functions came from. */
export interface FunctionsReport {
  /** How many there are. */
  readonly count: number;
  readonly from: "schema-file" | "source" | "nowhere";
  /** Why the schema file was of no use; undefined where it was, or where there is none. */
  readonly stale: string | undefined;
  /** What was derived; undefined where the schema file was used, or a function was refused. */
  readonly derived: StoredSchemas | undefined;
}

/**
 * Describes the plain functions that a definition offers, so that a set can be built of it: by the
 * schema file beside the tools file where that is fresh, else by their source.
 *
 * What a function can't be described for is told when the set is built.
 *
 * @throws ConfigurationError where the source has to be read and the compiler is not there or fails
 */
export async function describeFunctions(
  loaded: LoadedFile,
  { schemas = "reuse" }: DescribeOptions = {},
): Promise<FunctionsReport> {
  const { plain: functions, others } = functionsOf(loaded.definition);
  if (others.length > 0) refuseOthers(others);
  const count = functions.length;
  if (count === 0) return { count, from: "nowhere", stale: undefined, derived: undefined };
  const stored = storedFor(loaded.file);
  const stale = stored === undefined ? undefined : await useStored(loaded, functions, stored);
  if (stored !== undefined && stale === undefined && schemas === "reuse") {
    return { count, from: "schema-file", stale, derived: undefined };
  }
  if (!hasCompiler()) throw withoutCompiler(loaded.file, functions, stale);
  const derived = await deriveAll(loaded, functions, schemas === "reuse" ? stale : undefined);
  return { count, from: "source", stale, derived };
}

/** A class and a bound function can't be tools, whatever their types. */
function refuseOthers(others: readonly PlainFunction[]): void {
  const places = locate(others);
  for (const fn of others) {
    const at = places.get(fn);
    const place = at ? `${basename(fileURLToPath(at.url))}:${at.line}: ` : "";
    const what = describeFunction(fn as { readonly name?: unknown });
    refuseFunction(fn, `${what} can't be a tool: ${place}export a function that uses it`);
  }
}

/** Threads are told what the process derived; anyone else reads the schema file. */
function storedFor(file: string): StoredSchemas | string | undefined {
  const shared: unknown = getEnvironmentData(sharedKey(file));
  return typeof shared === "string" ? parseSchemas(shared) : readSchemaFile(file);
}

function sharedKey(file: string): string {
  return `toolport.schemas:${file}`;
}

/** Describes every function by what is stored, or says why that is not possible. */
async function useStored(
  { file, namespace }: LoadedFile,
  functions: readonly PlainFunction[],
  stored: StoredSchemas | string,
): Promise<string | undefined> {
  if (typeof stored === "string") return stored;
  const stale = stalenessOf(stored, file);
  if (stale !== undefined) return stale;
  const known = new Map<unknown, FunctionDescription>();
  for (const { module, export: name, tool } of stored.functions) {
    const path = resolve(dirname(file), module);
    const exported = path === file ? namespace : await moduleOf(pathToFileURL(path).href);
    known.set(exported?.[name], tool);
  }
  const missing = functions.find((fn) => !known.has(fn));
  if (missing) return `it lacks the function ${missing.name || "without a name"}`;
  for (const fn of functions) describeFunctionAs(fn, known.get(fn) as FunctionDescription);
  return undefined;
}

/** A module of the tools file; it has been loaded with it, so this runs nothing. */
async function moduleOf(url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    return (await import(url)) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

interface Site {
  readonly fn: PlainFunction;
  readonly file: string;
  readonly exportName: string;
}

async function deriveAll(
  loaded: LoadedFile,
  functions: readonly PlainFunction[],
  stale: string | undefined,
): Promise<StoredSchemas | undefined> {
  const { file } = loaded;
  const sites = await findSites(loaded, functions);
  if (sites.length === 0) return undefined;
  const answer = await derive({ folder: dirname(file), functions: sites.map(asRequest) });
  const found = sites.flatMap(({ fn, file: module, exportName }, index) => {
    const one = answer.functions[index];
    if (one && "description" in one) {
      return [{ fn, file: module, export: exportName, tool: one.description }];
    }
    refuseFunction(
      fn,
      `the function ${nameOf(fn)} can't be a tool: ${one?.refused ?? "no answer"}`,
    );
    return [];
  });
  const note = `its types were read anew, since ${basename(schemaFileOf(file))} is stale (${stale}): write it again with \`toolport schema ${basename(file)}\``;
  found.forEach(({ fn, tool }, index) => {
    const isNoted = stale !== undefined && index === 0;
    describeFunctionAs(fn, isNoted ? { ...tool, warnings: [note, ...tool.warnings] } : tool);
  });
  if (found.length < functions.length) return undefined;
  const stored = storeSchemas(
    file,
    found.map(({ fn: _fn, ...rest }) => rest),
    answer.files,
    answer.packages,
  );
  // Threads load the same file: they need not ask the compiler again.
  setEnvironmentData(sharedKey(file), schemaText(stored));
  return stored;
}

function asRequest({ file, exportName }: Site): { file: string; exportName: string } {
  return { file, exportName };
}

/** Finds the module and the name that each function is exported by; the others are refused. */
async function findSites(
  { file, namespace }: LoadedFile,
  functions: readonly PlainFunction[],
): Promise<readonly Site[]> {
  const own = functionExports(namespace);
  const elsewhere = functions.filter((fn) => !own.has(fn));
  const places = elsewhere.length > 0 ? locate(elsewhere) : undefined;
  const sites: Site[] = [];
  for (const fn of functions) {
    const ownName = own.get(fn);
    const place = places?.get(fn);
    if (ownName !== undefined) sites.push({ fn, file, exportName: ownName });
    else if (place) {
      const exported = functionExports((await moduleOf(place.url)) ?? {}).get(fn);
      const path = fileURLToPath(place.url);
      if (exported !== undefined) sites.push({ fn, file: path, exportName: exported });
      else refuseFunction(fn, notExported(fn, `${basename(path)}:${place.line}: `));
    } else refuseFunction(fn, notExported(fn, ""));
  }
  return sites;
}

function notExported(fn: PlainFunction, place: string): string {
  return `the function ${nameOf(fn)} can't be a tool: ${place}no module exports it, so its types can't be found: export it, or wrap it with defineTool`;
}

function nameOf({ name }: PlainFunction): string {
  return name === "" ? "without a name" : name;
}

function withoutCompiler(
  file: string,
  functions: readonly PlainFunction[],
  stale: string | undefined,
): ConfigurationError {
  const beside = basename(schemaFileOf(file));
  const state = stale === undefined ? `there is no ${beside}` : `${beside} is stale (${stale})`;
  const names = functions.slice(0, 3).map(nameOf).join(", ");
  return new ConfigurationError(
    `${basename(file)} offers plain functions (${names}${functions.length > 3 ? ", …" : ""}), and ${state}: ` +
      `write it with \`toolport schema ${basename(file)}\` where TypeScript 7 is installed and ship it, or install typescript@7 here`,
  );
}
