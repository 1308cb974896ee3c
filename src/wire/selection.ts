import { create } from "@bufbuild/protobuf";
import type { JsonObject } from "../domain/json.ts";
import type {
  HistoryMessage,
  SelectionContext,
  SelectionState,
  StageAction as Action,
  StageRecord,
} from "../domain/selection.ts";
import { parseJson } from "../internal/json-text.ts";
import { invalid } from "./request.ts";
import {
  type HistoryMessage as WireMessage,
  Role,
  type SelectionResult,
  SelectionResultSchema,
  type SelectionState as WireState,
  type SelectRequest,
  StageAction,
} from "./v1.ts";

/** What a Select request asks for. */
export interface Selecting extends SelectionContext {
  /** Choose among these; `null`: the whole set. */
  readonly candidates: readonly string[] | null;
}

/** What a selection came to. */
export interface Selected {
  readonly tools: readonly { readonly name: string | null }[];
  /** False: every stage abstained. */
  readonly decided: boolean;
  readonly forcedChoice: string | null;
  readonly trace: readonly StageRecord[];
}

/**
 * Reads a Select request.
 *
 * @throws ToolPortError REQUEST_INVALID where `state.extra_json` is not a JSON object
 */
export function readSelectRequest(message: SelectRequest): Selecting {
  return {
    role: message.role ?? "",
    candidates: message.candidates?.names ?? null,
    state: readState(message.state),
    messages: message.messages.flatMap(readMessage),
  };
}

/** A selection as a message. */
export function toSelectionResult(selected: Selected): SelectionResult {
  const result = create(SelectionResultSchema, {
    tools: selected.tools.map(({ name }) => name ?? "<unnamed>"),
    decided: selected.decided,
    trace: selected.trace.map((record) => ({
      stage: record.stage.toWellFormed(),
      action: actions[record.action],
      kept: wellFormed(record.kept),
      dropped: wellFormed(record.dropped),
      added: wellFormed(record.added),
      reinstated: wellFormed(record.reinstated),
      detail: record.detail.toWellFormed(),
      ...(record.forcedChoice === null ? {} : { forcedChoice: record.forcedChoice.toWellFormed() }),
    })),
  });
  if (selected.forcedChoice !== null) result.forcedChoice = selected.forcedChoice.toWellFormed();
  return result;
}

const actions: Readonly<Record<Action, StageAction>> = {
  abstained: StageAction.ABSTAINED,
  forced: StageAction.FORCED,
  released: StageAction.RELEASED,
  degraded: StageAction.DEGRADED,
  narrowed: StageAction.NARROWED,
  extended: StageAction.EXTENDED,
  emptied: StageAction.EMPTIED,
  unchanged: StageAction.UNCHANGED,
};

const roles: ReadonlyMap<Role, HistoryMessage["role"]> = new Map([
  [Role.SYSTEM, "system"],
  [Role.USER, "user"],
  [Role.ASSISTANT, "assistant"],
  [Role.TOOL, "tool"],
]);

function wellFormed(names: readonly string[]): string[] {
  return names.map((name) => name.toWellFormed());
}

/** A message of no role, or of one that this version does not know, is ignored. */
function readMessage(message: WireMessage): HistoryMessage[] {
  const role = roles.get(message.role);
  if (role === undefined) return [];
  return [
    {
      role,
      name: message.name,
      toolCallId: message.toolCallId,
      toolCalls: message.toolCalls.map(({ id, name }) => ({ id, name })),
      text: message.text,
    },
  ];
}

function readState(state: WireState | undefined): SelectionState {
  const intent = state?.intent;
  return {
    forcedChoice: state?.forcedChoice ?? null,
    resolvedTools: state?.resolvedTools?.names ?? null,
    intent: intent ? { label: intent.label, matchedTools: intent.matchedTools } : null,
    query: state?.query ?? "",
    extra: readExtra(state?.extraJson ?? ""),
  };
}

function readExtra(text: string): JsonObject {
  if (text.trim() === "") return Object.freeze(Object.create(null) as JsonObject);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw invalid("state.extra_json", `is not JSON: ${(cause as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("state.extra_json", "is not a JSON object; pass one such as {}");
  }
  return value as JsonObject;
}
