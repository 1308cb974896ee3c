import { CommanderError } from "commander";

import { catalogue, isToolPortError } from "../errors.ts";
import { printable } from "./terminal.ts";

/** What the process ends with. */
export const exitCodes: {
  readonly ok: 0;
  /** A call failed, or the sidecar could not be reached. */
  readonly failed: 1;
  /** Bad configuration or usage. */
  readonly usage: 2;
} = Object.freeze({ ok: 0, failed: 1, usage: 2 });

/** What an error means for whoever typed the command. */
export interface CliFailure {
  readonly exitCode: number;
  /** One line that says what is wrong and what to do; empty where it has been said. */
  readonly line: string;
}

/** Reads an error that ended a command. */
export function failureOf(error: unknown): CliFailure {
  if (error instanceof CommanderError) {
    return { exitCode: error.exitCode === 0 ? exitCodes.ok : exitCodes.usage, line: "" };
  }
  if (!isToolPortError(error)) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { exitCode: exitCodes.failed, line: `${oneLine(text)} (a defect of toolport)` };
  }
  if (error.code === "CONFIGURATION") {
    return { exitCode: exitCodes.usage, line: oneLine(error.message) };
  }
  const advice = catalogue[error.code].advice;
  return {
    exitCode: exitCodes.failed,
    line: `${oneLine(error.message)} (${error.code}). ${advice}`,
  };
}

function oneLine(text: string): string {
  return printable(text)
    .replace(/\s*\n\s*/gu, " ")
    .trim();
}
