import { InvalidArgumentError, Option } from "commander";

import { helpText, type Setting } from "../config/settings.ts";
import { ConfigurationError } from "../errors.ts";
import type { OutputForm } from "./terminal.ts";

/** How a command's results are asked for. */
export interface OutputFlags {
  readonly output?: OutputForm;
  readonly json?: boolean;
}

/** @throws ConfigurationError where the two flags contradict each other */
export function formOf(flags: OutputFlags): OutputForm | undefined {
  if (flags.json === true && flags.output === "text") {
    throw new ConfigurationError("--json contradicts --output text: give one of the two");
  }
  return flags.json === true ? "json" : flags.output;
}

/** `--output`. */
export function outputOption(): Option {
  return new Option(
    "-o, --output <form>",
    "text for people or json for programs (default: text on a terminal, else json)",
  ).choices(["text", "json"]);
}

/** A setting as a flag. */
export function optionOf(setting: Setting<string | number | boolean | undefined>): Option {
  return new Option(setting.flag, helpText(setting));
}

/** Reads a flag's number. */
export function wholeNumber(text: string): number {
  if (/^\d{1,10}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("It is not a whole number.");
}
