import { CommanderError } from "commander";

import { catalogue, type ErrorCode, isToolPortError } from "../errors.ts";
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
  const { said, advice } = adviceFor(error.code, oneLine(error.message));
  return {
    exitCode: exitCodes.failed,
    line: `${said} (${error.code})${advice === undefined ? "" : `. ${advice}`}`,
  };
}

/** What a message says, and what is to be told beside it; nothing where it says that itself. */
function adviceFor(
  code: ErrorCode,
  message: string,
): { readonly said: string; readonly advice?: string } {
  if (code === "UNAUTHENTICATED") {
    // A server speaks of the header that a kernel sends; whoever types a command has flags instead.
    return { said: message.replace(adviceClause, ""), advice: tokenAdvice };
  }
  if (adviceClause.test(message) || retold.has(code)) return { said: message };
  return { said: message, advice: catalogue[code].advice };
}

/** Where messages say what to do: behind their last semicolon, as a command. */
const adviceClause =
  /; (?:ask|choose|free|give|leave|mend|open|pass|raise|restore|send|use|its log says)\b[^;]*$/u;

/** Codes whose advice tells only once more what has happened. */
const retold: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CANCELLED",
  "HOST_ERROR",
  "RUN_TAKEN_OVER",
]);

const tokenAdvice =
  "Give the sidecar's bearer token with --token-file FILE or in TOOLPORT_TOKEN (TOOLPORT_TOKEN_FILE names a file).";

function oneLine(text: string): string {
  return printable(text)
    .replace(/\s*\n\s*/gu, " ")
    .trim();
}
