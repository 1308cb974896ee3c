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
// I5  A stream that has closed holds nothing of its RPC. Its native half keeps it alive until the
//     next full collection, and whatever it held would be copied by each small one before.

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

/** One RPC on a stream: what it makes of the request, and how its answers are written. */
export interface StreamRpc<T> extends OutletHooks {
  /** A message with its prefix; `bytes` is about what it weighs. */
  frame(value: T, bytes: number): Buffer;
  /** A piece of the request's body. */
  data(piece: Buffer): void;
  /** The request's body is whole. */
  dataEnded(): void;
  /** The stream has closed, for whatever reason; told last. */
  closed(): void;
}

/** Answers one RPC on an HTTP/2 stream. */
export class StreamOutlet<T> implements Outlet<T> {
  readonly #stream: ServerHttp2Stream;
  readonly #rpc: StreamRpc<T>;
  readonly #log: Log;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #status = isOk;
  #isBehind = false;
  #awaitsDrain = false;
  #isOver = false;

  constructor(stream: ServerHttp2Stream, rpc: StreamRpc<T>, log: Log) {
    this.#stream = stream;
    this.#rpc = rpc;
    this.#log = log;
    (stream as Served)[served] = this;
    stream.on("error", onError);
    stream.on("aborted", onAborted);
    stream.on("close", onClose);
  }

  /** Begins to read the request. */
  read(): void {
    this.#stream.on("data", onData);
    this.#stream.on("end", onEnd);
  }

  /** Whether nothing more can be said. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get bytes(): number {
    return this.#waitingBytes + this.#stream.writableLength;
  }

  push(value: T, bytes: number): boolean {
    if (this.#isOver) return true;
    const frame = this.#rpc.frame(value, bytes);
    if (this.#waiting.length === 0) process.nextTick(flush, this);
    this.#waiting.push(frame);
    this.#waitingBytes += frame.byteLength;
    this.#isBehind ||= this.bytes >= capacity;
    return !this.#isBehind;
  }

  end(error?: { readonly reason: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error) this.#status = this.#statusOf(error.reason);
    this.#write();
  }

  /** What a stream tells of; for its listeners. */
  on(event: "aborted" | "close" | "drain" | "end" | "flush" | "trailers"): void {
    switch (event) {
      case "flush":
        if (this.#waiting.length > 0) this.#write();
        return;
      case "end":
        return this.#rpc.dataEnded();
      case "drain":
        this.#awaitsDrain = false;
        this.#isBehind = false;
        if (!this.#isOver) this.#rpc.room();
        return;
      case "trailers":
        this.#stream.sendTrailers(this.#status);
        return this.#hangUp();
      case "aborted":
        if (this.#isOver) return;
        this.#isOver = true;
        return this.#rpc.left();
      case "close":
        (this.#stream as Served)[served] = undefined;
        return this.#rpc.closed();
    }
  }

  onData(piece: Buffer): void {
    // What comes after the end is dropped.
    if (!this.#isOver) this.#rpc.data(piece);
  }

  onError(error: Error): void {
    this.#log("debug", "response_error", { error });
  }

  #write(): void {
    const stream = this.#stream;
    const frames = this.#waiting;
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (stream.destroyed || stream.closed) return;
    if (!stream.headersSent) {
      stream.respond(headers, withTrailers);
      stream.on("wantTrailers", onTrailers);
    }
    const isLast = this.#isOver;
    if (frames.length > 1 && bytes > maxJoinedBytes) {
      stream.cork();
      for (const frame of frames) stream.write(frame);
      stream.uncork();
      if (isLast) stream.end();
    } else if (frames.length > 0) {
      const joined = frames.length === 1 ? frames[0] : Buffer.concat(frames, bytes);
      if (isLast) stream.end(joined);
      else stream.write(joined);
    } else if (isLast) {
      stream.end();
    }
    // What is over the capacity is over the stream's own mark as well, so that a drain comes.
    if (!this.#isBehind || isLast || this.#awaitsDrain) return;
    this.#awaitsDrain = true;
    stream.once("drain", onDrain);
  }

  #statusOf(reason: unknown): OutgoingHttpHeaders {
    const error = reason instanceof ConnectError ? reason : toConnectError(reason, this.#log);
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

// One function each for all streams: they are looked up by the stream, and close over nothing.

const served = Symbol("rpc");

interface Served extends ServerHttp2Stream {
  [served]?: StreamOutlet<never> | undefined;
}

function flush(outlet: StreamOutlet<never>): void {
  outlet.on("flush");
}

function onData(this: Served, piece: Buffer): void {
  this[served]?.onData(piece);
}

function onEnd(this: Served): void {
  this[served]?.on("end");
}

function onDrain(this: Served): void {
  this[served]?.on("drain");
}

function onTrailers(this: Served): void {
  this[served]?.on("trailers");
}

function onAborted(this: Served): void {
  this[served]?.on("aborted");
}

function onClose(this: Served): void {
  this[served]?.on("close");
}

function onError(this: Served, error: Error): void {
  this[served]?.onError(error);
}
