import type { MessagePort } from "node:worker_threads";
import type { CallEvent, ContentPart } from "../domain/call.ts";
import type { ErrorCode, Started } from "../errors.ts";
import type { AbortCause, ContextOrigin } from "../execution/context.ts";
import type { Failure } from "../execution/describe-error.ts";
import type { LogLevel } from "../internal/log.ts";
import type { MountListing } from "../mounts/mounted-capability.ts";

/** What a thread is started with. */
export interface ThreadSetup {
  /** Of this package alone: tools may use the thread's `parentPort` as they like. */
  readonly port: MessagePort;
  /** The memory of a {@link Flow}. */
  readonly flow: SharedArrayBuffer;
  /** The absolute path of the tools file. */
  readonly toolsFile: string;
  /** What its mounts listed: a thread starts no servers. */
  readonly mounted: readonly MountListing[];
  /** The digest that its set must have. */
  readonly digest: string;
}

/** What the process tells a thread. `seq` numbers the calls of one thread from 1. */
export type ToThread =
  | {
      readonly kind: "call";
      readonly seq: number;
      readonly origin: ContextOrigin;
      /** The live run; absent where the tool is not run-aware. */
      readonly runId: string | undefined;
    }
  | { readonly kind: "abort"; readonly seq: number; readonly cause: AbortCause }
  /** There is room for output again. */
  | { readonly kind: "room"; readonly seq: number }
  | {
      readonly kind: "answer";
      readonly seq: number;
      readonly question: number;
      readonly answer: { readonly json: string } | { readonly error: CrossedError };
    }
  /** The call's run is no longer live. */
  | { readonly kind: "run-ended"; readonly seq: number }
  /** No more calls come. */
  | { readonly kind: "end" };

/** What a thread tells the process. */
export type FromThread =
  | { readonly kind: "ready" }
  /** The tools file can't be used in this thread; it ends. */
  | { readonly kind: "failed"; readonly message: string }
  | {
      readonly kind: "event";
      readonly seq: number;
      readonly event: CallEvent;
      /** What the event counts for in the flow. */
      readonly weight: number;
    }
  | {
      readonly kind: "ask";
      readonly seq: number;
      readonly question: number;
      readonly name: string;
      readonly payloadJson: string;
    }
  /** The thread has taken the call, and the body begins. */
  | { readonly kind: "began"; readonly seq: number }
  /** The body has ended, and nothing of the call comes after. */
  | { readonly kind: "settled"; readonly seq: number; readonly end: CrossedEnd }
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly event: string;
      readonly tool: string | undefined;
      readonly error: CrossedError;
    };

/** How a body ended, in texts and bytes: each end is rendered where it came about. */
export type CrossedEnd =
  | {
      readonly ok: true;
      readonly result: string;
      /** The structured form; `same`: the result itself, which then crosses once. */
      readonly structuredJson: "same" | { readonly text: string | undefined };
      readonly content: readonly ContentPart[];
    }
  | {
      readonly ok: false;
      readonly failure: Failure;
      /** Whether it was an abort or time-out error, which is no outcome of a cancelled call. */
      readonly isAbort: boolean;
    };

/** An error as far as it can cross. */
export interface CrossedError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  /** Present on errors of this package. */
  readonly code?: ErrorCode;
  readonly started?: Started;
}
