import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

import { parseJson } from "../internal/json-text.ts";
import type { FunctionDescription } from "../registry/plain-function.ts";

/** Grows when the same source comes to another description. */
const revision = 2;

/** A description with where its function is exported. */
export interface StoredFunction {
  /** The path of its module, from the folder of the tools file. */
  readonly module: string;
  readonly export: string;
  readonly tool: FunctionDescription;
}

/** The descriptions of the functions of a tools file, with what they were derived from. */
export interface StoredSchemas {
  readonly toolport: number;
  readonly functions: readonly StoredFunction[];
  /** The hash of each file that types came from, by its path from the folder of the tools file. */
  readonly files: Readonly<Record<string, string>>;
  /** The version of each package that types came from, by the path of its folder. */
  readonly packages: Readonly<Record<string, string>>;
}

/** `tools.ts.schema.json` beside `tools.ts`. */
export function schemaFileOf(toolsFile: string): string {
  return `${toolsFile}.schema.json`;
}

/**
 * Puts descriptions together with what they were derived from.
 *
 * @param files absolute paths
 * @param packages absolute paths of folders
 */
export function storeSchemas(
  toolsFile: string,
  functions: readonly (Omit<StoredFunction, "module"> & { readonly file: string })[],
  files: readonly string[],
  packages: readonly string[],
): StoredSchemas {
  const from = (path: string): string => fromFolder(toolsFile, path);
  return {
    toolport: revision,
    functions: functions.map(({ file, ...rest }) => ({ module: from(file), ...rest })),
    files: Object.fromEntries(files.map((file) => [from(file), hashOf(file) ?? ""])),
    packages: Object.fromEntries(packages.map((folder) => [from(folder), versionOf(folder) ?? ""])),
  };
}

/** The text of a schema file. */
export function schemaText(stored: StoredSchemas): string {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  const digits = (_key: string, value: unknown): unknown =>
    typeof value === "bigint" ? rawJSON(value.toString()) : value;
  return `${JSON.stringify(stored, digits, 2)}\n`;
}

/** Reads the schema file of a tools file; undefined where there is none, a text where it is unusable. */
export function readSchemaFile(toolsFile: string): StoredSchemas | string | undefined {
  let text: string;
  try {
    text = readFileSync(schemaFileOf(toolsFile), "utf8");
  } catch (error) {
    return (error as { readonly code?: unknown }).code === "ENOENT"
      ? undefined
      : "it can't be read";
  }
  return parseSchemas(text);
}

/** Reads what {@link schemaText} wrote; a text says why it is unusable. */
export function parseSchemas(text: string): StoredSchemas | string {
  try {
    const stored = parseJson(text) as unknown as StoredSchemas | null;
    const isWhole =
      Array.isArray(stored?.functions) &&
      typeof stored.files === "object" &&
      typeof stored.packages === "object";
    if (!isWhole) return "it is no schema file";
    return stored.toolport === revision ? stored : "another version of toolport wrote it";
  } catch {
    return "it is no JSON";
  }
}

/** Why descriptions are stale; undefined where they are not. */
export function stalenessOf(stored: StoredSchemas, toolsFile: string): string | undefined {
  const folder = dirname(toolsFile);
  for (const [path, hash] of Object.entries(stored.files)) {
    const now = hashOf(resolve(folder, path));
    if (now === undefined) return `${path} is gone`;
    if (now !== hash) return `${path} has changed`;
  }
  for (const [path, version] of Object.entries(stored.packages)) {
    // Types alone may come from a package that production runs without.
    const now = versionOf(resolve(folder, path));
    if (now !== undefined && now !== version) return `${path} is ${now}, no longer ${version}`;
  }
  return undefined;
}

function fromFolder(toolsFile: string, path: string): string {
  return relative(dirname(toolsFile), path).split(sep).join("/");
}

/** Line ends don't count: a checkout may change them. */
function hashOf(file: string): string | undefined {
  try {
    const text = readFileSync(file, "utf8").replaceAll("\r\n", "\n");
    return `sha256:${createHash("sha256").update(text).digest("hex")}`;
  } catch {
    return undefined;
  }
}

function versionOf(folder: string): string | undefined {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly version?: unknown;
    };
    return typeof version === "string" ? version : "";
  } catch {
    return undefined;
  }
}
