import type { CallEvent, CallRequest, OnDisconnect } from "../domain/call.ts";
import type { ToolPortError } from "../errors.ts";
import type { CallEnd } from "./port.ts";

/** What a kernel says to open a live run. */
export interface OpenRequest {
  readonly runId: string;
  /** Empty: do not check. */
  readonly expectedDigest: string;
  readonly onDisconnect: OnDisconnect;
  /** Given to every call of the run; a call's own entries win. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A question of a run-aware tool to the kernel. */
export interface HostQuestion {
  /** Unique in the run. */
  readonly requestId: string;
  /** Of the call that asks; 0 where it was started on a stream before this one. */
  readonly tag: bigint;
  readonly callId: string;
  readonly name: string;
  readonly payloadJson: string;
}

/** What the transport of one stream is told. */
export interface RunPeer {
  /** Who holds the stream; empty where everybody is the same. */
  readonly principal: string;
  /** The run is open; first, unless {@link RunPeer.close} comes at once. */
  opened(resumed: boolean): void;
  /**
   * Something happened in a call.
   *
   * @returns false to say: no more until {@link RunSession.resume}
   */
  event(tag: bigint, callId: string, event: CallEvent): boolean;
  /** A call is over; the last of its tag. */
  end(tag: bigint, callId: string, end: CallEnd): void;
  ask(question: HostQuestion): void;
  /** A question needs no answer any more. */
  unask(requestId: string, tag: bigint): void;
  /** The stream is over, with a fault or without; last. */
  close(fault?: ToolPortError): void;
}

/** What the transport of one stream tells. */
export interface RunSession {
  call(tag: bigint, request: CallRequest, deadlineMs?: number): void;
  /** A call that the transport refuses itself; its tag is used all the same. */
  fail(tag: bigint, callId: string, fault: ToolPortError): void;
  cancel(tag: bigint): void;
  reply(requestId: string, reply: HostAnswer): void;
  /** No new calls: the stream ends when those in flight have. */
  halfClose(): void;
  /** The peer has gone, or broke the contract (`fault`, which it is told). Idempotent. */
  leave(cause: "cancelled" | "deadline" | "disconnected", fault?: ToolPortError): void;
  /** The peer takes events again. */
  resume(): void;
}

/** The kernel's answer to a question. */
export type HostAnswer =
  | { readonly ok: true; readonly resultJson: string }
  | { readonly ok: false; readonly error: string };

/** Opens live runs. */
export interface RunPort {
  open(request: OpenRequest, peer: RunPeer): RunSession;
  /** Ends every run; call it when the executor has drained. */
  close(fault: ToolPortError): void;
}
