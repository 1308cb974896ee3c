import type { HistoryMessage } from "../domain/selection.ts";
import { listNames } from "./describe-thrown.ts";
import type { Turn } from "./turn.ts";

/** What a wish to force something comes to. */
export type ForceVerdict =
  /** `null`: the force has been met. */
  | { readonly kind: "force"; readonly force: string | null; readonly detail: string }
  /** An empty string: no force, and nobody else is asked. */
  | { readonly kind: "none" }
  | { readonly kind: "refused"; readonly detail: string };

const reservedWords: ReadonlySet<string> = new Set(["any", "auto", "none", "required"]);
/** These would make the model call a tool for ever, so one answer meets them. */
const metByAnyAnswer: ReadonlySet<string> = new Set(["any", "required"]);

/**
 * Judges a forced choice: a tool's exact name among the candidates, or a reserved word that no
 * candidate is named by. A name is met once any tool message of the history bears it; `any` and
 * `required` once a tool message follows the last one of the user's. An answer that can't be
 * satisfied is never given.
 */
export function judgeForce(
  choice: unknown,
  turn: Turn<unknown>,
  messages: readonly HistoryMessage[],
): ForceVerdict {
  if (typeof choice !== "string") {
    return {
      kind: "refused",
      detail: `the forced choice is no string but of type ${typeof choice}`,
    };
  }
  if (choice === "") return { kind: "none" };
  const quoted = listNames([choice]);
  const isTool = turn.candidates.some((entry) => entry.name === choice);
  if (!isTool && reservedWords.has(choice)) {
    if (turn.set.length === 0) {
      return { kind: "refused", detail: `${quoted} is forced, but there is no tool to choose` };
    }
    return metByAnyAnswer.has(choice) && isAnsweredSinceUser(messages)
      ? { kind: "force", force: null, detail: `a tool has answered since ${quoted} was asked for` }
      : { kind: "force", force: choice, detail: "" };
  }
  if (answeredTools(messages).has(choice)) {
    return { kind: "force", force: null, detail: `${quoted} has answered already` };
  }
  return isTool
    ? { kind: "force", force: choice, detail: "" }
    : { kind: "refused", detail: `${quoted} is forced, but no candidate has that exact name` };
}

/** Names of the tools that a tool message answers for, anywhere in the history. */
function answeredTools(messages: readonly HistoryMessage[]): ReadonlySet<string> {
  const answered = new Set<string>();
  // Providers use an id again in later turns, so the latest call before the answer is meant.
  const callNames = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) callNames.set(call.id, call.name);
    } else if (message.role === "tool") {
      const name = message.name || callNames.get(message.toolCallId);
      if (name !== undefined && name !== "") answered.add(name);
    }
  }
  return answered;
}

function isAnsweredSinceUser(messages: readonly HistoryMessage[]): boolean {
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  return messages.slice(lastUser + 1).some((message) => message.role === "tool");
}
