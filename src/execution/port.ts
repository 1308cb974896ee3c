import type { CallEvent, CallRequest, Outcome } from "../domain/call.ts";
import type { ToolPortError } from "../errors.ts";

/** What whoever asks for a call is told. All of it comes on the caller's own stack turn or later. */
export interface Caller {
  /** Who asks; empty where everybody is the same. Part of the journal's key. */
  readonly principal: string;
  /**
   * Something happened.
   *
   * @returns false to say: no more until {@link Ticket.resume}
   */
  event(event: CallEvent): boolean;
  /** True where the caller takes no event for now, though it has not said so of this call. */
  readonly isBehind?: boolean;
  /** The call is over for this caller; called exactly once, and last. */
  end(end: CallEnd): void;
}

/** An outcome for the model, or a fault for the kernel's author. */
export type CallEnd =
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  | { readonly kind: "fault"; readonly fault: ToolPortError };

/** A caller's hold on a call. */
export interface Ticket {
  /**
   * The caller has gone; it is told nothing more but the end, a fault. A cancel or a deadline always
   * ends its part; a lost connection only where the call asked for that. Idempotent.
   */
  leave(cause: "cancelled" | "deadline" | "disconnected"): void;
  /** The caller takes events again. */
  resume(): void;
}

/** Runs calls. */
export interface Executor {
  /**
   * Admits one call. Every admitted call ends in exactly one outcome or one fault.
   *
   * @param deadlineMs the caller's deadline in milliseconds from now; undefined for none
   */
  execute(request: CallRequest, caller: Caller, deadlineMs?: number): Ticket;
  /** How many calls are in flight, queued ones included. */
  readonly inFlight: number;
  /**
   * Takes no new calls, waits for those in flight up to `graceMs`, then aborts them.
   *
   * @returns when none is left, at most a little after the grace
   */
  drain(graceMs: number): Promise<void>;
}
