import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { Log } from "../../internal/log.ts";
import { toConnectError } from "../../wire/faults.ts";
import type { Outlet, OutletHooks } from "../outlet.ts";

// I1  Headers go out with the first message, or before the status where there is none.
// I2  The status goes out once, last; nothing is written after it, or to a stream that has gone.
// I3  `push` answers false exactly when the reader is behind; `room` is called once for it.
// I4  What is pushed in one turn goes out in one write: a frame of HTTP/2 costs more than a message.

/** How much may wait for a reader before the producer is asked to pause, in bytes. */
const capacity: number = 256 * 1024;

/** Above this many bytes, messages are written one by one rather than put together by copying. */
const maxJoinedBytes: number = 64 * 1024;

const headers: OutgoingHttpHeaders = Object.freeze({
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "gzip,br",
});

const isOk: OutgoingHttpHeaders = Object.freeze({ "grpc-status": "0" });

const withTrailers = Object.freeze({ waitForTrailers: true, sendDate: false });

/** What tells a stream's outlet how to write, and who produces. */
export interface StreamOutletOptions<T> extends OutletHooks {
  /** A message with its prefix. */
  frame(value: T): Buffer;
  readonly log: Log;
}

/** Answers one RPC on an HTTP/2 stream. */
export class StreamOutlet<T> implements Outlet<T> {
  readonly #stream: ServerHttp2Stream;
  readonly #options: StreamOutletOptions<T>;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #status = isOk;
  #isBehind = false;
  #awaitsDrain = false;
  #isOver = false;

  constructor(stream: ServerHttp2Stream, options: StreamOutletOptions<T>) {
    this.#stream = stream;
    this.#options = options;
    stream.on("error", (error: Error) => options.log("debug", "response_error", { error }));
    stream.on("aborted", () => {
      if (this.#isOver) return;
      this.#isOver = true;
      options.left();
    });
  }

  /** Whether nothing more can be said. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get bytes(): number {
    return this.#waitingBytes + this.#stream.writableLength;
  }

  push(value: T, _bytes: number): boolean {
    if (this.#isOver) return true;
    const frame = this.#options.frame(value);
    if (this.#waiting.length === 0) process.nextTick(flushWaiting, this);
    this.#waiting.push(frame);
    this.#waitingBytes += frame.byteLength;
    this.#isBehind ||= this.bytes >= capacity;
    return !this.#isBehind;
  }

  end(error?: { readonly reason: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    if (error) this.#status = this.#statusOf(error.reason);
    this.#flush();
  }

  /** Writes what waits, where anything does. */
  flushWaiting(): void {
    if (this.#waiting.length > 0) this.#flush();
  }

  #flush(): void {
    const stream = this.#stream;
    const frames = this.#waiting;
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (stream.destroyed || stream.closed) return;
    if (!stream.headersSent) this.#begin();
    const isLast = this.#isOver;
    if (frames.length > 1 && bytes > maxJoinedBytes) {
      stream.cork();
      for (const frame of frames) stream.write(frame);
      process.nextTick(() => stream.uncork());
      if (isLast) stream.end();
    } else if (frames.length > 0) {
      const joined = frames.length === 1 ? frames[0] : Buffer.concat(frames, bytes);
      if (isLast) stream.end(joined);
      else stream.write(joined);
    } else if (isLast) {
      stream.end();
    }
    if (this.#isBehind && !isLast) this.#waitForRoom();
  }

  #waitForRoom(): void {
    if (this.#awaitsDrain) return;
    const stream = this.#stream;
    const room = (): void => {
      this.#awaitsDrain = false;
      this.#isBehind = false;
      if (!this.#isOver) this.#options.room();
    };
    this.#awaitsDrain = true;
    // What was over the capacity is over the stream's own mark as well, so that a drain comes.
    stream.once("drain", room);
  }

  #begin(): void {
    const stream = this.#stream;
    stream.respond(headers, withTrailers);
    stream.on("wantTrailers", () => {
      stream.sendTrailers(this.#status);
      this.#hangUp();
    });
  }

  #statusOf(reason: unknown): OutgoingHttpHeaders {
    const error =
      reason instanceof ConnectError ? reason : toConnectError(reason, this.#options.log);
    return Object.fromEntries(setTrailerStatus(new Headers(), error));
  }

  /** A peer that still sends is told that nobody listens any more, once the status is out. */
  #hangUp(): void {
    const stream = this.#stream;
    if (stream.readableEnded) return;
    setImmediate(() => {
      if (stream.readableEnded || stream.destroyed) return;
      stream.resume();
      stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }
}

function flushWaiting(outlet: { flushWaiting(): void }): void {
  outlet.flushWaiting();
}
