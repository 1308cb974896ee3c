import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { CallRequest } from "../domain/call.ts";
import { isToolPortError, ToolPortError } from "../errors.ts";
import type { CallEnd } from "../execution/port.ts";
import type { OpenRequest, RunPeer, RunPort, RunSession } from "../execution/run-port.ts";
import type { Log } from "../internal/log.ts";
import { SlotMap } from "../internal/slot-map.ts";
import { toEvent } from "../wire/call.ts";
import { toConnectError, toStatus } from "../wire/faults.ts";
import {
  checkId,
  invalid,
  readExecuteRequest,
  readMetadata,
  readOnDisconnect,
} from "../wire/request.ts";
import {
  type CallEvent,
  type OpenRun,
  type RunRequest,
  type RunResponse,
  RunResponseSchema,
} from "../wire/v1.ts";
import { fitAnswer, requireAnswerable, weightOf } from "./answer.ts";
import { outputTooLarge, sizeOf } from "./call-stream.ts";
import { withDetails } from "./framework-faults.ts";
import type { Outlet } from "./outlet.ts";
import type { ServerInfoInit } from "./server-info.ts";

// I1  A fault of one call travels as its event; only what breaks the stream's own rules ends it.
// I2  Every road out of the RPC goes through the outlet's end, which comes once.
// I3  After the end requests may still come; they are dropped.

/** What a run's stream needs. */
export interface RunStreamOptions {
  readonly runs: RunPort;
  readonly digest: string;
  readonly server: ServerInfoInit;
  readonly maxMessageBytes: number;
  readonly log: Log;
}

/** One live run on one stream, whatever carries it. */
export class RunStream implements RunPeer {
  readonly principal: string;
  readonly #outlet: Outlet<RunResponse>;
  readonly #options: RunStreamOptions;
  readonly #asked = new SlotMap<bigint, CallRequest>();
  readonly #overflowed = new Set<bigint>();
  #session: RunSession | undefined;
  #isClosed = false;

  constructor(principal: string, outlet: Outlet<RunResponse>, options: RunStreamOptions) {
    this.principal = principal;
    this.#outlet = outlet;
    this.#options = options;
  }

  opened(resumed: boolean): void {
    const { digest, server } = this.#options;
    this.#send({ case: "opened", value: { digest, resumed, server } }, 0);
  }

  event(tag: bigint, callId: string, happened: Parameters<RunPeer["event"]>[2]): boolean {
    // Its end has been told; the call itself learns of it in a later turn.
    if (this.#overflowed.has(tag)) return true;
    const { maxMessageBytes } = this.#options;
    const bytes = sizeOf(happened);
    const message = this.#event(tag, callId, toEvent(happened));
    const isTooLarge =
      bytes > maxMessageBytes / 4 &&
      toBinary(RunResponseSchema, message).byteLength > maxMessageBytes;
    if (!isTooLarge) return this.#outlet.push(message, bytes);
    this.#overflowed.add(tag);
    this.#fault(tag, callId, outputTooLarge(maxMessageBytes));
    queueMicrotask(() => this.#session?.cancel(tag));
    return true;
  }

  end(tag: bigint, callId: string, end: CallEnd): void {
    const request = this.#asked.get(tag);
    this.#asked.delete(tag);
    // A call whose output was too large has had its end.
    if (this.#overflowed.delete(tag)) return;
    if (end.kind === "fault") return this.#fault(tag, callId, end.fault);
    if (!request) return;
    const { maxMessageBytes } = this.#options;
    const answer = fitAnswer(request, end.outcome, request.acceptChunks, maxMessageBytes);
    for (const chunk of answer.chunks) {
      const message = this.#event(tag, callId, { case: "chunk", value: chunk });
      this.#outlet.push(message, chunk.data.byteLength);
    }
    const message = this.#event(tag, callId, { case: "call", value: answer.call });
    this.#outlet.push(message, weightOf(answer.call));
  }

  ask(question: Parameters<RunPeer["ask"]>[0]): void {
    this.#send({ case: "hostRequest", value: question }, question.payloadJson.length);
  }

  unask(requestId: string, tag: bigint): void {
    this.#send({ case: "hostCancel", value: { requestId, tag } }, 0);
  }

  close(fault?: ToolPortError): void {
    this.#isClosed = true;
    this.#outlet.end(fault ? { reason: toConnectError(fault, this.#options.log) } : undefined);
  }

  /**
   * Takes the kernel's next message.
   *
   * @throws ToolPortError where it breaks the stream's rules; tell {@link break} of it
   */
  take({ message }: RunRequest): void {
    // Nobody would hear of a run that opened now. What still comes is dropped.
    if (this.#isClosed) return;
    if (this.#session) this.#take(this.#session, message);
    else this.#session = this.#open(message);
  }

  /** The kernel has no more to say. */
  halfClose(): void {
    if (this.#session) this.#session.halfClose();
    else this.close();
  }

  /** The reader has caught up. */
  resume(): void {
    this.#session?.resume();
  }

  /** The kernel has gone. */
  leave(cause: "cancelled" | "disconnected"): void {
    this.#isClosed = true;
    this.#session?.leave(cause);
    this.close();
  }

  /** The RPC's deadline has passed. */
  expire(fault: ToolPortError): void {
    this.#session?.leave("deadline", fault);
    this.close(fault);
  }

  /** The peer broke the stream's rules: it ends, and the run with it. */
  break(thrown: unknown): void {
    const { log, maxMessageBytes } = this.#options;
    const error = isToolPortError(thrown)
      ? toConnectError(thrown, log)
      : withDetails(thrown, maxMessageBytes, log);
    this.#isClosed = true;
    this.#outlet.end({ reason: error });
    this.#session?.leave("cancelled");
  }

  #open(message: RunRequest["message"]): RunSession {
    if (message.case !== "open") {
      throw invalid("message", "is not `open`, which comes first on a run's stream");
    }
    return this.#options.runs.open(readOpen(message.value), this);
  }

  #take(session: RunSession, message: RunRequest["message"]): void {
    switch (message.case) {
      case "open":
        throw invalid("open", "came a second time; a stream opens one run");
      case "execute": {
        const { tag, request, deadlineMs } = message.value;
        if (tag === 0n) throw invalid("execute.tag", "is 0; give every call a tag of its own");
        try {
          if (!request) throw invalid("execute.request", "is missing; it names the call");
          const call = readExecuteRequest(request, "execute.request.");
          requireAnswerable(call, this.#options.maxMessageBytes);
          if (!this.#asked.has(tag)) this.#asked.set(tag, call);
          session.call(tag, call, deadlineMs);
        } catch (thrown) {
          if (!isToolPortError(thrown)) throw thrown;
          session.fail(tag, request?.request?.callId ?? "", thrown);
        }
        return;
      }
      case "cancel":
        if (message.value.tag === 0n) throw invalid("cancel.tag", "is 0, which names no call");
        return session.cancel(message.value.tag);
      case "hostReply": {
        const { requestId, reply } = message.value;
        if (requestId === "") throw invalid("host_reply.request_id", "is empty");
        if (reply.case === "resultJson") {
          return session.reply(requestId, { ok: true, resultJson: reply.value });
        }
        const error = reply.case === "error" ? reply.value : "the host's reply is empty";
        return session.reply(requestId, { ok: false, error });
      }
      case undefined:
        throw invalid("message", "is not set, or of a kind that this server does not know");
    }
  }

  #fault(tag: bigint, callId: string, fault: ToolPortError): void {
    this.#asked.delete(tag);
    const status = toStatus(fault, this.#options.log);
    this.#outlet.push(this.#event(tag, callId, { case: "fault", value: status }), 128);
  }

  #event(tag: bigint, callId: string, event: CallEvent["event"]): RunResponse {
    const value: CallEvent = { $typeName: "toolport.v1.CallEvent", tag, callId, event };
    return { $typeName: "toolport.v1.RunResponse", message: { case: "event", value } };
  }

  #send(message: MessageInitShape<typeof RunResponseSchema>["message"], bytes: number): void {
    this.#outlet.push(
      create(RunResponseSchema, { message: message ?? { case: undefined } }),
      64 + bytes,
    );
  }
}

function readOpen(open: OpenRun): OpenRequest {
  if (open.runId === "") throw invalid("open.run_id", "is empty; give every run an id");
  checkId("open.run_id", open.runId);
  return {
    runId: open.runId,
    expectedDigest: open.expectedDigest,
    onDisconnect: readOnDisconnect(open.onDisconnect, "open."),
    metadata: readMetadata(open.metadata),
  };
}
