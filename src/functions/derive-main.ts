/**
 * What runs the compiler: reads a request from standard input, writes the answer to standard output.
 * A process of its own, since an error within a call breaks the compiler's pipe for good, and since it
 * gives its memory back.
 */
import { readFileSync } from "node:fs";

import { parseJson, stringifyJson } from "../internal/json-text.ts";
import { deriveFunction } from "./compiler/derive-function.ts";
import { SourceProgram } from "./compiler/program.ts";
import type { DerivedFunction, DeriveRequest, DeriveResponse, FunctionSite } from "./protocol.ts";

function answer({ folder, functions }: DeriveRequest): DeriveResponse {
  const files = [...new Set(functions.map(({ file }) => file))];
  let program = new SourceProgram(folder, files);
  const { files: own, packages } = program.sources();
  const derived = functions.map((site): DerivedFunction => {
    try {
      return deriveFunction(program, site);
    } catch (error) {
      abandon(program);
      program = new SourceProgram(folder, files);
      return { refused: failure(site, program, error) };
    }
  });
  program.close();
  return { functions: derived, files: own, packages };
}

/** Its pipe may be of no more use. */
function abandon(program: SourceProgram): void {
  try {
    program.close();
  } catch {
    // Then the compiler ends with this process.
  }
}

function failure(
  { file, exportName }: FunctionSite,
  program: SourceProgram,
  error: unknown,
): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${program.shown(file)}: the compiler fails at ${exportName}: ${why.replace(/\s+/gu, " ")}`;
}

const request = parseJson(readFileSync(0, "utf8")) as unknown as DeriveRequest;
process.stdout.write(stringifyJson(answer(request)));
