import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { ToolPortError } from "../../errors.ts";
import type { Ticket } from "../../execution/port.ts";
import { after, type Timer } from "../../internal/timers.ts";
import { readExecuteRequest } from "../../wire/request.ts";
import type { ExecuteResponse } from "../../wire/v1.ts";
import { type CallStreamOptions, startCall } from "../call-stream.ts";
import { deadlineFault } from "../deadline.ts";
import type { RpcHead } from "../rpc-head.ts";
import { decodeExecuteRequest, frameExecuteResponse } from "./codec.ts";
import { Frames, unparsable } from "./frames.ts";
import { goneCause } from "./gone.ts";
import type { Patience, Waiting } from "./patience.ts";
import { StreamOutlet, type StreamRpc } from "./stream-outlet.ts";

/** What serving a call needs. */
export interface BareExecuteOptions extends CallStreamOptions {
  /** Gives up requests whose message does not come. */
  readonly patience: Patience;
  /** How long a request's message may take to come, in milliseconds; for the fault's text. */
  readonly bodyMs: number;
}

/** Serves one Execute on its HTTP/2 stream. */
export function serveExecute(
  stream: ServerHttp2Stream,
  head: RpcHead,
  options: BareExecuteOptions,
): void {
  new ExecuteRpc(stream, head, options).serve();
}

class ExecuteRpc implements StreamRpc<ExecuteResponse>, Waiting {
  readonly #head: RpcHead;
  readonly #options: BareExecuteOptions;
  readonly #outlet: StreamOutlet<ExecuteResponse>;
  readonly #frames: Frames;
  readonly #session: ServerHttp2Session | undefined;
  #message: Buffer | undefined;
  #ticket: Ticket | undefined;
  #deadline: Timer | undefined;
  #due = 0;
  #wait = 0;

  constructor(stream: ServerHttp2Stream, head: RpcHead, options: BareExecuteOptions) {
    this.#head = head;
    this.#options = options;
    this.#frames = new Frames(options.maxMessageBytes);
    this.#session = stream.session as ServerHttp2Session | undefined;
    this.#outlet = new StreamOutlet(stream, this, options.log);
  }

  serve(): void {
    const { refusal, timeoutMs } = this.#head;
    if (refusal) return this.#fail(refusal);
    if (timeoutMs !== undefined) {
      this.#due = performance.now() + timeoutMs;
      this.#deadline = after(timeoutMs, () => this.#fail(deadlineFault()));
    }
    this.#wait = this.#options.patience.wait(this);
    this.#outlet.read();
    return undefined;
  }

  frame(message: ExecuteResponse, bytes: number): Buffer {
    return frameExecuteResponse(message, bytes);
  }

  room(): void {
    this.#ticket?.resume();
  }

  left(): void {
    this.#ticket?.leave(goneCause(this.#session));
  }

  closed(): void {
    this.#stopWaiting();
  }

  tooLate(): void {
    this.#fail(
      new ToolPortError(
        "REQUEST_INVALID",
        `the request's message did not come within ${this.#options.bodyMs} ms`,
      ),
    );
  }

  data(piece: Buffer): void {
    this.#frames.push(piece);
    try {
      // Read as it comes, so that what is too large is refused before it is there.
      for (let next = this.#frames.next(); next; next = this.#frames.next()) {
        if (this.#message) throw notOne("received extra input message for server-streaming method");
        this.#message = next;
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  dataEnded(): void {
    this.#stopWaiting();
    if (this.#outlet.isOver) return;
    try {
      if (this.#frames.isPartial) throw unparsable("incomplete envelope");
      if (!this.#message) throw notOne("missing input message for server-streaming method");
      const request = readExecuteRequest(decodeExecuteRequest(this.#message));
      this.#message = undefined;
      const { principal, timeoutMs } = this.#head;
      // From here the call keeps the deadline.
      const deadlineMs =
        timeoutMs === undefined ? undefined : Math.max(0, this.#due - performance.now());
      this.#ticket = startCall(request, this.#outlet, { principal, deadlineMs }, this.#options);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #stopWaiting(): void {
    this.#deadline?.stop();
    this.#options.patience.stop(this.#wait);
  }

  #fail(thrown: unknown): void {
    this.#stopWaiting();
    this.#outlet.end({ reason: thrown });
  }
}

/** The fault of a request that is not one message. */
function notOne(what: string): ToolPortError {
  return new ToolPortError("UNIMPLEMENTED", `protocol error: ${what}`);
}
