import type { ErrorCode, Started } from "../errors.ts";
import type { CallKey, Ending, Entry, ListFilter, Pruned, RecordedClaim } from "./journal.ts";
import type { OutcomeText } from "./outcome-text.ts";

/** What the worker is started with. */
export interface WorkerOptions {
  readonly path: string;
  readonly retentionMs: number;
  readonly tombstoneMs: number;
  /** Absent: no bound. */
  readonly maxBytes?: number;
  readonly graceMs: number;
  /** The monotonic clock at the start, in milliseconds. */
  readonly reading: number;
  /** How many pages the file may have, for tests of a full disk. */
  readonly maxPages?: number;
}

/**
 * One operation: its number, what to do, and with what. Tuples, because cloning one between threads
 * costs half of what an object with names does.
 */
export type Operation = ReadOperation | WriteOperation | ControlOperation;

/** An operation that changes nothing. */
export type ReadOperation =
  | readonly [id: number, kind: "lookup", principal: string, runId: string, callId: string]
  | readonly [id: number, kind: "started", principal: string, runId: string, toolName: string]
  | readonly [id: number, kind: "list", filter: ListFilter];

/** An operation that is answered once it is durable. */
export type WriteOperation =
  | readonly [
      id: number,
      kind: "claim",
      principal: string,
      runId: string,
      callId: string,
      toolName: string,
      callDigest: string,
      manifestDigest: string,
      idempotent: boolean,
    ]
  | readonly [
      id: number,
      kind: "end",
      principal: string,
      runId: string,
      callId: string,
      attempt: number,
      ending: Ending["kind"],
      /** Whether the call counts as started. */
      counted: boolean,
      text: string | null,
      parts: Uint8Array | null,
    ]
  | readonly [id: number, kind: "touch", principal: string, runId: string];

/** An operation on the journal as a whole. A `tick` is housekeeping, and not answered. */
export type ControlOperation =
  | readonly [id: number, kind: "prune"]
  | readonly [id: number, kind: "tick"]
  | readonly [id: number, kind: "close"];

/** What each kind of operation is answered with. */
export interface Answers {
  lookup: RecordedText;
  started: number;
  list: readonly EntryText[];
  /** The attempt. */
  claim: number;
  end: "recorded" | "noted";
  touch: null;
  prune: Pruned;
  close: null;
}

/** What a look-up found, its outcome still in its stored form. */
export type RecordedText =
  | { readonly state: "nothing" | "expired" }
  | ({
      readonly state: "running" | "released" | "lost" | "done";
      readonly outcome: OutcomeText | null;
    } & RecordedClaim);

/** An entry of a list, its outcomes still in their stored form. */
export interface EntryText extends CallKey, RecordedClaim {
  readonly state: Entry["state"];
  readonly outcome: OutcomeText | null;
  readonly notes: readonly { readonly attempt: number; readonly outcome: OutcomeText }[];
  readonly idleMs: number;
}

/** All operations of one tick of the main thread. */
export interface Batch {
  /** The monotonic clock, in milliseconds. */
  readonly reading: number;
  readonly operations: readonly Operation[];
}

/** An answer to the operation of that number. */
export type Answer = readonly [id: number, value: Answers[keyof Answers]];

/** Says that the operation of that number failed. */
export type Failure = readonly [id: number, code: ErrorCode, message: string, started: Started];

/** What the worker says. */
export type WorkerMessage =
  | { readonly kind: "ready" }
  /** The journal cannot be opened; the message is for whoever started the process. */
  | { readonly kind: "refused"; readonly message: string }
  | {
      readonly kind: "answers";
      readonly answers: readonly Answer[];
      readonly failures: readonly Failure[];
    }
  | { readonly kind: "log"; readonly level: LogLevel; readonly message: string };

/** How much a line of the log matters. */
export type LogLevel = "info" | "warn" | "error";
