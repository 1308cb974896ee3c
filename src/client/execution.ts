import { ToolPortError } from "../errors.ts";
import type { ExecuteResponse, ToolCall, ToolOutput, ToolProgress } from "../wire/v1.ts";

/** What happens during a call; `call` comes once and last. */
export type ExecutionEvent =
  | { readonly case: "progress"; readonly value: ToolProgress }
  | { readonly case: "output"; readonly value: ToolOutput }
  | { readonly case: "call"; readonly value: ToolCall };

/** Where a call's events come from: a stream of its own, or one that it shares. */
export interface EventSource {
  pause(): void;
  resume(): void;
  cancel(): void;
}

/** How many events wait here before the server is made to wait. */
const highWater = 16;

/**
 * One call under way. Iterate over it for its events, or await `result` for its outcome alone; both
 * at once is fine. Nothing is read before one of the two, which holds back a tool that sends a lot.
 * Leaving the loop early cancels the call.
 */
export class Execution implements AsyncIterable<ExecutionEvent> {
  /** The id that the call goes by, also where it was made here. */
  readonly callId: string;
  readonly #stream: EventSource;
  readonly #outcome = Promise.withResolvers<ToolCall>();
  readonly #queue: ExecutionEvent[] = [];
  readonly #chunks: Uint8Array[] = [];
  #mode: "idle" | "iterating" | "draining" = "idle";
  #wake: (() => void) | undefined;
  #call: ToolCall | undefined;
  #fault: ToolPortError | undefined;
  #isIterated = false;
  #isOver = false;

  /** @internal */
  constructor(callId: string, stream: EventSource) {
    this.callId = callId;
    this.#stream = stream;
    // Whoever only iterates is told by the iterator.
    this.#outcome.promise.catch(() => {});
    stream.pause();
  }

  /**
   * The outcome: an error of the tool is part of it.
   *
   * @throws ToolPortError where the call ended in a fault, `CANCELLED` where it was cancelled
   */
  get result(): Promise<ToolCall> {
    if (this.#mode === "idle") this.#drain();
    return this.#outcome.promise;
  }

  /** Cancels the call: its tool's signal fires and `result` rejects. Idempotent. */
  cancel(): void {
    this.#stream.cancel();
    this.#drain();
  }

  /** @throws ToolPortError where the call ends in a fault, or has been iterated over before */
  async *[Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent, void, undefined> {
    if (this.#isIterated) {
      throw new ToolPortError("REQUEST_INVALID", "a call's events can be iterated over only once");
    }
    this.#isIterated = true;
    this.#mode = "iterating";
    try {
      for (;;) {
        const event = this.#queue.shift();
        if (event) {
          yield event;
        } else if (this.#isOver) {
          if (this.#fault) throw this.#fault;
          return;
        } else {
          const woken = new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#stream.resume();
          await woken;
        }
      }
    } finally {
      if (!this.#isOver) {
        if (!this.#call) this.#stream.cancel();
        this.#drain();
      }
    }
  }

  #drain(): void {
    this.#mode = "draining";
    this.#queue.length = 0;
    this.#stream.resume();
  }

  /** @internal Something happened. */
  take(event: ExecuteResponse["event"]): void {
    if (event.case === "chunk") {
      this.#chunks.push(event.value.data);
      return;
    }
    if (event.case === undefined) return;
    if (event.case === "call") {
      if (this.#chunks.length > 0) event.value.result = Buffer.concat(this.#chunks).toString();
      this.#call = event.value;
    }
    if (this.#mode === "draining") return;
    this.#queue.push(event);
    if (this.#queue.length >= highWater) this.#stream.pause();
    this.#wake?.();
  }

  /** @internal Nothing more comes; a fault given here ends the call. */
  finish(fault?: ToolPortError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#fault = this.#call ? undefined : fault;
    if (!this.#fault && !this.#call) {
      this.#fault = new ToolPortError("INTERNAL", `call ${this.callId} ended without an outcome`, {
        started: "unknown",
      });
    }
    if (this.#fault) this.#outcome.reject(this.#fault);
    else if (this.#call) this.#outcome.resolve(this.#call);
    this.#wake?.();
  }
}
