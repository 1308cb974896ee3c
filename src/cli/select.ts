import { fromJson, type JsonValue } from "@bufbuild/protobuf";

import type { ToolPortClient } from "../client/index.ts";
import { ConfigurationError } from "../errors.ts";
import {
  type HistoryMessage,
  HistoryMessageSchema,
  type SelectResponse,
  StageAction,
  type StageRecord,
} from "../wire/v1.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { paint, table } from "./terminal.ts";
import { readTextFile, requireJsonObject } from "./tool-arguments.ts";

/** What `toolport select` is given. Lists are names with commas between them. */
export interface SelectFlags {
  readonly role?: string;
  readonly candidates?: string;
  readonly resolved?: string;
  /** The stamp; empty: no force. */
  readonly force?: string;
  readonly intent?: string;
  readonly matched?: string;
  readonly query?: string;
  /** A JSON object for stages of the adopter's own. */
  readonly extra?: string;
  /** The conversation as a JSON array of messages, or `@file`. */
  readonly messages?: string;
}

/** Asks which tools to offer, and prints them with the reasons. */
export async function runSelect(
  client: ToolPortClient,
  io: Console,
  flags: SelectFlags,
): Promise<number> {
  const response = await client.select({
    ...(flags.role === undefined ? {} : { role: flags.role }),
    ...(flags.candidates === undefined ? {} : { candidates: names(flags.candidates) }),
    state: {
      ...(flags.force === undefined ? {} : { forcedChoice: flags.force }),
      ...(flags.resolved === undefined ? {} : { resolvedTools: names(flags.resolved) }),
      ...(flags.intent === undefined
        ? {}
        : { intent: { label: flags.intent, matchedTools: names(flags.matched ?? "").names } }),
      query: flags.query ?? "",
      extraJson:
        flags.extra === undefined ? "" : requireJsonObject("the value of --extra", flags.extra),
    },
    messages: flags.messages === undefined ? [] : readMessages(flags.messages),
  });
  if (io.form === "json") io.printJson(selectionJson(response));
  else io.print(selectionText(io, response));
  return exitCodes.ok;
}

function names(list: string): { names: string[] } {
  return {
    names: list
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean),
  };
}

function readMessages(given: string): HistoryMessage[] {
  const text =
    given.startsWith("@") || given === "-" ? readTextFile(given.replace(/^@/u, "")) : given;
  try {
    const messages: unknown = JSON.parse(text);
    if (!Array.isArray(messages)) throw new TypeError("it is not an array");
    return messages.map((message: JsonValue) => fromJson(HistoryMessageSchema, withRole(message)));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `cannot read --messages: ${why}; expected an array such as [{"role":"user","text":"hello"}]`,
      { cause: error },
    );
  }
}

/** Lets people write `user` for `ROLE_USER`. */
function withRole(message: JsonValue): JsonValue {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return message;
  const role = message["role"];
  if (typeof role !== "string" || role.startsWith("ROLE_")) return message;
  return { ...message, role: `ROLE_${role.toUpperCase()}` };
}

function selectionJson({ result, digest }: SelectResponse): unknown {
  return {
    tools: result?.tools ?? [],
    decided: result?.decided ?? false,
    forcedChoice: result?.forcedChoice ?? null,
    trace: (result?.trace ?? []).map((record) => ({
      stage: record.stage,
      action: actionName(record.action),
      kept: record.kept,
      dropped: record.dropped,
      added: record.added,
      reinstated: record.reinstated,
      forcedChoice: record.forcedChoice ?? null,
      detail: record.detail,
    })),
    digest,
  };
}

function selectionText(io: Console, { result }: SelectResponse): string {
  const tools = result?.tools ?? [];
  const bold = (text: string): string => paint(io.out, "bold", text);
  const why = result?.decided ? "" : " (no stage had a say: this is the whole set)";
  const rows = (result?.trace ?? []).map((record) => [
    record.stage,
    actionName(record.action),
    changes(record),
  ]);
  const lines = [
    `${bold("offer")}   ${tools.length === 0 ? "nothing" : tools.join(", ")}${why}`,
    `${bold("force")}   ${result?.forcedChoice ?? "nothing"}`,
  ];
  return `${lines.join("\n")}\n\n${table(io.out, ["STAGE", "CAME TO", "WHY"], rows)}`;
}

function changes(record: StageRecord): string {
  return [
    ...(record.forcedChoice === undefined ? [] : [`forces ${record.forcedChoice}`]),
    ...listed("drops", record.dropped),
    ...listed("adds", record.added),
    ...listed("brings back", record.reinstated),
    ...(record.detail === "" ? [] : [record.detail]),
  ].join("\n");
}

function listed(word: string, tools: readonly string[]): string[] {
  return tools.length === 0 ? [] : [`${word} ${tools.join(", ")}`];
}

function actionName(action: StageAction): string {
  const name = Object.entries(StageAction).find(([, value]) => value === action)?.[0];
  return name?.toLowerCase() ?? String(action);
}
