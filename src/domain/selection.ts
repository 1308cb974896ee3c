import type { JsonObject } from "./json.ts";

/** What a stage came to. */
export type StageAction =
  | "abstained"
  | "forced"
  | "released"
  | "degraded"
  | "narrowed"
  | "extended"
  | "emptied"
  | "unchanged";

/** What one stage of the selection did; see the contract's StageRecord. */
export interface StageRecord {
  readonly stage: string;
  readonly action: StageAction;
  readonly kept: readonly string[];
  readonly dropped: readonly string[];
  readonly added: readonly string[];
  readonly reinstated: readonly string[];
  readonly forcedChoice: string | null;
  readonly detail: string;
}

/** One message of the conversation, oldest first. */
export interface HistoryMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  /** For a tool message the tool's name; empty where only the call id is known. */
  readonly name: string;
  readonly toolCallId: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string }[];
  readonly text: string;
}

/** What the kernel knows that selection may read. */
export interface SelectionState {
  /** The stamp; `null`: none, the resolver is asked; empty: no force, and it is not asked. */
  readonly forcedChoice: unknown;
  /** Absent or empty: the whole set. */
  readonly resolvedTools: readonly string[] | null;
  readonly intent: IntentVerdict | null;
  readonly query: string;
  readonly extra: JsonObject;
}

/** What an intent classifier found. */
export interface IntentVerdict {
  readonly label: string;
  readonly matchedTools: readonly string[];
}

/** A tool as selection sees it. A nameless one can't be gated by name and is kept. */
export interface SelectableTool {
  readonly name: string | null;
}

/** What every resolver and stage is given. */
export interface SelectionContext {
  readonly state: SelectionState;
  readonly messages: readonly HistoryMessage[];
  /** Empty where the kernel named none. */
  readonly role: string;
}
