import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { after, type Timer } from "../../internal/timers.ts";
import type { RunResponse } from "../../wire/v1.ts";
import { deadlineFault } from "../deadline.ts";
import type { RpcHead } from "../rpc-head.ts";
import { maxUnreadBytes, requestsATurn } from "../run-requests.ts";
import { RunStream, type RunStreamOptions } from "../run-stream.ts";
import { decodeRunRequest, frameRunResponse } from "./codec.ts";
import { Frames, unparsable } from "./frames.ts";
import { goneCause } from "./gone.ts";
import { StreamOutlet, type StreamRpc } from "./stream-outlet.ts";

// I1  Requests are taken in the order in which they came, so many in one turn of the loop.
// I2  While very much waits for a peer that does not read, its requests are not read either.
// I3  The end of the requests is told once all of them are taken.

/** Serves one live run on its HTTP/2 stream. */
export function serveRun(
  stream: ServerHttp2Stream,
  head: RpcHead,
  options: RunStreamOptions,
): void {
  new RunRpc(stream, head, options).serve();
}

class RunRpc implements StreamRpc<RunResponse> {
  readonly #stream: ServerHttp2Stream;
  readonly #session: ServerHttp2Session | undefined;
  readonly #head: RpcHead;
  readonly #frames: Frames;
  readonly #outlet: StreamOutlet<RunResponse>;
  readonly #run: RunStream;
  #deadline: Timer | undefined;
  #hasEnded = false;
  #isResting = false;

  constructor(stream: ServerHttp2Stream, head: RpcHead, options: RunStreamOptions) {
    this.#stream = stream;
    this.#session = stream.session as ServerHttp2Session | undefined;
    this.#head = head;
    this.#frames = new Frames(options.maxMessageBytes);
    this.#outlet = new StreamOutlet(stream, this, options.log);
    this.#run = new RunStream(head.principal, this.#outlet, options);
  }

  serve(): void {
    const { refusal, timeoutMs } = this.#head;
    if (refusal) return this.#outlet.end({ reason: refusal });
    if (timeoutMs !== undefined) {
      this.#deadline = after(timeoutMs, () => this.#run.expire(deadlineFault()));
    }
    this.#outlet.read();
    return undefined;
  }

  frame(message: RunResponse, bytes: number): Buffer {
    return frameRunResponse(message, bytes);
  }

  room(): void {
    this.#run.resume();
    this.#wake();
  }

  left(): void {
    this.#run.leave(goneCause(this.#session));
  }

  closed(): void {
    this.#deadline?.stop();
  }

  data(piece: Buffer): void {
    this.#frames.push(piece);
    if (!this.#isResting) this.#take();
  }

  dataEnded(): void {
    this.#hasEnded = true;
    if (!this.#isResting) this.#take();
  }

  #take(): void {
    try {
      for (let taken = 0; !this.#outlet.isOver; taken += 1) {
        if (taken === requestsATurn || this.#outlet.bytes > maxUnreadBytes) return this.#rest();
        const message = this.#frames.next();
        if (!message) break;
        this.#run.take(decodeRunRequest(message));
      }
      if (!this.#hasEnded || this.#outlet.isOver) return;
      if (this.#frames.isPartial) throw unparsable("incomplete envelope");
      this.#run.halfClose();
    } catch (thrown) {
      this.#run.break(thrown);
    }
  }

  /** Takes no more in this turn; goes on once little enough waits for the reader. */
  #rest(): void {
    this.#isResting = true;
    this.#stream.pause();
    setImmediate(() => this.#wake());
  }

  #wake(): void {
    // While too much waits the outlet tells when there is room.
    if (!this.#isResting || this.#outlet.bytes > maxUnreadBytes) return;
    this.#isResting = false;
    this.#stream.resume();
    this.#take();
  }
}
