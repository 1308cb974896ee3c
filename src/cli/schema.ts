import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

import { loadTools } from "../config/tools-file.ts";
import { ConfigurationError } from "../errors.ts";
import { schemaFileOf, schemaText } from "../functions/schema-file.ts";
import { buildRegistry, type Capability } from "../registry/build-registry.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { paint } from "./terminal.ts";

/** What `toolport schema` is given. */
export interface SchemaFlags {
  /** Only say whether the file is as it should be. */
  readonly check?: boolean;
}

type State = "written" | "unchanged" | "removed" | "stale" | "missing" | "none";

/**
 * Writes what the plain functions of a tools file were read as beside it, so that it can be served
 * where no compiler is installed. With `check` it writes nothing, and fails where it would have.
 *
 * @throws ConfigurationError for a function that can't be a tool
 */
export async function runSchema(file: string, flags: SchemaFlags, io: Console): Promise<number> {
  const { definition, functions } = await loadTools(file, { schemas: "derive" });
  const path = schemaFileOf(file);
  if (functions.derived === undefined && functions.count > 0) {
    // Says which function it is, and why.
    buildRegistry({
      tools: definition.tools,
      capabilities: withFunctions(definition.capabilities),
    });
    throw new ConfigurationError(`${file} offers a function that can't be a tool`);
  }
  const text = functions.derived && schemaText(functions.derived);
  const before = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const state = stateOf(before, text, flags.check === true);
  if (state === "written" && text !== undefined) writeWhole(path, text);
  if (state === "removed") rmSync(path, { force: true });
  const isFailed = state === "stale" || state === "missing";
  if (io.form === "json") io.printJson({ file: path, state, functions: functions.count });
  else io.print(`${sentence(io, state, path, file, functions.count)}\n`);
  return isFailed ? exitCodes.failed : exitCodes.ok;
}

function stateOf(before: string | undefined, text: string | undefined, isCheck: boolean): State {
  if (text === undefined) {
    if (before === undefined) return "none";
    return isCheck ? "stale" : "removed";
  }
  if (before === text) return "unchanged";
  if (!isCheck) return "written";
  return before === undefined ? "missing" : "stale";
}

function sentence(io: Console, state: State, path: string, file: string, count: number): string {
  const functions = `${count} ${count === 1 ? "function" : "functions"}`;
  switch (state) {
    case "written":
      return `${paint(io.out, "green", "written")}: ${path}, with ${functions}`;
    case "unchanged":
      return `${paint(io.out, "green", "fresh")}: ${path}, with ${functions}`;
    case "removed":
      return `${paint(io.out, "green", "removed")}: ${path}, since ${file} offers no plain functions`;
    case "none":
      return `${file} offers no plain functions, so there is nothing to write`;
    case "missing":
      return `${paint(io.out, "red", "missing")}: ${path}; write it with \`toolport schema ${file}\``;
    case "stale":
      return `${paint(io.out, "red", "stale")}: ${path}; write it again with \`toolport schema ${file}\``;
  }
}

/** Mounted servers are not started for this. */
function withFunctions(capabilities: readonly object[]): readonly Capability[] {
  return capabilities.filter((one): one is Capability => "tools" in one);
}

/** Whoever starts meanwhile finds the old file or the new one. */
function writeWhole(path: string, text: string): void {
  const fresh = `${resolve(path)}.${process.pid}`;
  try {
    writeFileSync(fresh, text);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`${path} can't be written: ${why}`, { cause: error });
  }
}
