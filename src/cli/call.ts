import type { Execution, ToolPortClient } from "../client/index.ts";
import type { JsonObject } from "../domain/json.ts";
import { ConfigurationError, isToolPortError } from "../errors.ts";
import { parseJson, stringifyJson } from "../internal/json-text.ts";
import { type Content, ErrorKind, type ToolCall } from "../wire/v1.ts";
import type { Console } from "./console.ts";
import { callJson, errorKindName } from "./descriptor-json.ts";
import { exitCodes } from "./failure.ts";
import { manifestCommand, type TargetFlags } from "./target.ts";
import { printable, prettyJson } from "./terminal.ts";
import { readTextFile, readToolArguments, requireJsonObject } from "./tool-arguments.ts";

/** What `toolport call` is given beside the tool's name and its arguments. */
export interface CallFlags {
  /** The arguments as one JSON object; `@file` or `-` reads them. */
  readonly json?: string;
  readonly runId?: string;
  readonly callId?: string;
  readonly timeoutMs?: number;
  readonly deadlineMs?: number;
  /** Leaves out progress and partial output. */
  readonly quiet?: boolean;
}

/** Calls one tool and prints its result. */
export async function runCall(
  client: ToolPortClient,
  io: Console,
  name: string,
  words: readonly string[],
  flags: CallFlags & TargetFlags,
  signal: AbortSignal,
): Promise<number> {
  const argumentsJson =
    flags.json === undefined
      ? await typedArguments(client, name, words)
      : givenArguments(flags.json, words);
  const execution = client.execute(
    { name, argumentsJson, callId: flags.callId, runId: flags.runId },
    { timeoutMs: flags.timeoutMs, deadlineMs: flags.deadlineMs, signal },
  );
  try {
    return await follow(execution, io, flags);
  } catch (error) {
    io.clearBar();
    if (!signal.aborted || !isToolPortError(error) || error.code !== "CANCELLED") throw error;
    io.note("cancelled");
    return exitCodes.failed;
  }
}

async function follow(
  execution: Execution,
  io: Console,
  flags: CallFlags & TargetFlags,
): Promise<number> {
  for await (const event of execution) {
    if (event.case === "call") return finish(io, event.value, flags);
    if (flags.quiet === true) continue;
    if (event.case === "progress") {
      io.progress(event.value.done, event.value.total, event.value.message);
      continue;
    }
    const { output } = event.value;
    if (output.case === "text")
      io.partial(output.value.endsWith("\n") ? output.value : `${output.value}\n`);
    else if (output.case === "json") io.partial(`${output.value}\n`);
    else if (output.case === "content") io.partial(`(${describe(output.value)})\n`);
  }
  return exitCodes.failed;
}

function finish(io: Console, call: ToolCall, target: TargetFlags): number {
  const isOk = call.error === undefined;
  if (io.form === "json") {
    io.printJson(callJson(call));
  } else if (isOk) {
    const text =
      call.structuredJson === undefined ? (call.result ?? "") : prettyJson(call.structuredJson);
    const shown = io.out.isTTY ? printable(text) : text;
    io.print(shown === "" || shown.endsWith("\n") ? shown : `${shown}\n`);
    for (const content of call.content) io.note(`(${describe(content)})`);
  }
  if (!isOk) {
    const kind = errorKindName(call.errorKind);
    io.note(`${call.name} failed: ${call.error} (${kind})${hintFor(call, target)}`);
  }
  return isOk ? exitCodes.ok : exitCodes.failed;
}

function hintFor({ errorKind, name }: ToolCall, target: TargetFlags): string {
  if (errorKind === ErrorKind.UNKNOWN_TOOL) {
    return `; \`${manifestCommand("--all", target)}\` lists the tools`;
  }
  if (errorKind !== ErrorKind.INVALID_ARGUMENTS) return "";
  return `; \`${manifestCommand(name, target)}\` shows its arguments`;
}

async function typedArguments(
  client: ToolPortClient,
  name: string,
  words: readonly string[],
): Promise<string> {
  if (words.length === 0) return "{}";
  const { tools } = await client.manifest({ includeHidden: true, names: { names: [name] } });
  const schema = tools[0] ? (parseJson(tools[0].inputSchemaJson) as JsonObject) : {};
  return stringifyJson(readToolArguments(words, schema));
}

function givenArguments(json: string, words: readonly string[]): string {
  if (words.length > 0) {
    throw new ConfigurationError(
      `--json and ${JSON.stringify(words[0])} both give arguments: use one of the two forms`,
    );
  }
  const isFile = json.startsWith("@") || json === "-";
  const text = isFile ? readTextFile(json.replace(/^@/u, "")) : json;
  return requireJsonObject("the value of --json", text);
}

function describe(content: Content): string {
  const { source } = content;
  const where = source.case === "data" ? `${source.value.byteLength} bytes` : source.value;
  return [content.mimeType, content.name, where].filter(Boolean).join(", ");
}
