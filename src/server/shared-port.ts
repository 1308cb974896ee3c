import { createServer as createHttp1, type Server as Http1Server } from "node:http";
import {
  createServer as createHttp2,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Log } from "../internal/log.ts";
import { keepAlive } from "./keepalive.ts";
import type { NodeRequest, NodeResponse } from "./node-adapter.ts";
import { replaceStreamTable } from "./stream-table.ts";

/** What bounds each connection. */
export interface ConnectionLimits {
  /** Streams that one HTTP/2 connection may have open at once. */
  readonly streamsPerConnection: number;
  /** Connections that may be open at once. */
  readonly connections: number;
  /** The headers of one request, in bytes. */
  readonly headerBytes: number;
  /** How long a peer may take to say which protocol it speaks, and to send its headers, in ms. */
  readonly handshakeMs: number;
  /** How long an HTTP/1.1 connection may stay idle, in milliseconds. */
  readonly idleMs: number;
  /** How often an HTTP/2 peer is asked for a sign of life, in milliseconds. */
  readonly pingEveryMs: number;
}

/** What a request that is no HTTP/1.1 is answered, by why. */
const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

type StreamListener = (
  this: Http2Server,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  ...more: unknown[]
) => void;

/** What an HTTP/2 client says first. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Who serves what comes over the port. */
export interface PortListeners {
  /** A request of either version of HTTP that nobody else has taken. */
  readonly onRequest: (request: NodeRequest, response: NodeResponse) => void;
  /** Sees each HTTP/2 stream first; true where it serves it. */
  readonly takeStream?:
    | ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean)
    | undefined;
}

/**
 * One listening socket that speaks HTTP/1.1 and HTTP/2 without TLS, as each peer's first bytes say.
 * It owns every connection that it accepted.
 */
export class SharedPort {
  /** What listens. */
  readonly server: Http1Server;
  readonly #http2: Http2Server;
  readonly #limits: ConnectionLimits;
  readonly #log: Log;
  readonly #sockets = new Set<Socket>();
  readonly #undecided = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(listeners: PortListeners, limits: ConnectionLimits, log: Log) {
    this.#limits = limits;
    this.#log = log;
    this.server = createHttp1({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.handshakeMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(limits.handshakeMs, 5000),
      noDelay: true,
      keepAlive: true,
    });
    this.server.maxConnections = limits.connections;
    this.#http2 = createHttp2({
      maxSessionMemory: 512,
      settings: {
        maxConcurrentStreams: limits.streamsPerConnection,
        maxHeaderListSize: limits.headerBytes,
        enablePush: false,
      },
    });
    this.#serve(listeners);
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Takes no new connections; lets those that are idle go, and the others when they are. */
  drain(): void {
    this.#isClosing = true;
    this.server.close();
    this.server.closeIdleConnections();
    for (const socket of this.#undecided) socket.destroy();
    // Says GOAWAY, then closes when the last stream has ended.
    for (const session of this.#sessions) session.close();
  }

  /** Waits until every connection has gone, at most `ms`; then cuts what is left. */
  async close(ms: number): Promise<void> {
    this.drain();
    const end = performance.now() + ms;
    while (this.#sockets.size > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      this.server.closeIdleConnections();
    }
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve({ onRequest, takeStream = () => false }: PortListeners): void {
    const { server } = this;
    // The HTTP/1.1 server listens, so that its own timeouts run; its listener comes second.
    const speakHttp1 = server.listeners("connection") as ((socket: Socket) => void)[];
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => this.#accept(socket, speakHttp1));
    server.on("request", (request, response) => {
      if (this.#isClosing) response.setHeader("connection", "close");
      onRequest(request, response);
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
      const status = refusals[error.code ?? ""] ?? "400 Bad Request";
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      // Whoever doesn't close its side is closed.
      setTimeout(() => socket.destroy(), 1000).unref();
      return undefined;
    });
    this.#http2.on("request", onRequest);
    // The listener that makes requests of streams comes second.
    const makeRequest = this.#http2.listeners("stream") as StreamListener[];
    this.#http2.removeAllListeners("stream");
    this.#http2.on("stream", (stream, headers, ...more) => {
      if (takeStream(stream, headers)) return;
      for (const listener of makeRequest) listener.call(this.#http2, stream, headers, ...more);
    });
    this.#http2.on("session", (session) => this.#adopt(session));
    this.#http2.on("sessionError", (error: Error) => {
      this.#log("debug", "connection_error", { error });
    });
  }

  #adopt(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    replaceStreamTable(session);
    keepAlive(session, this.#limits.pingEveryMs);
    session.once("close", () => this.#sessions.delete(session));
    if (this.#isClosing) session.close();
  }

  #accept(socket: Socket, speakHttp1: readonly ((socket: Socket) => void)[]): void {
    this.#sockets.add(socket);
    this.#undecided.add(socket);
    const onError = (error: Error): void => this.#log("debug", "connection_error", { error });
    const timer = setTimeout(() => socket.destroy(), this.#limits.handshakeMs);
    socket.on("error", onError);
    socket.once("close", () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
      this.#undecided.delete(socket);
    });
    if (this.#isClosing) return void socket.destroy();
    // The HTTP/1.1 server accepts half-open connections; a peer that has left another one is gone.
    socket.allowHalfOpen = false;
    let head: Buffer = Buffer.alloc(0);
    const onReadable = (): void => {
      const bytes = socket.read() as Buffer | null;
      if (bytes === null) return;
      head = head.byteLength === 0 ? bytes : Buffer.concat([head, bytes]);
      const start = head.subarray(0, preface.length);
      const isPreface = preface.subarray(0, start.length).equals(start);
      if (isPreface && start.length < preface.length) return;
      socket.off("readable", onReadable);
      clearTimeout(timer);
      this.#undecided.delete(socket);
      // Whoever speaks the protocol reads it all, these first bytes too.
      socket.unshift(head);
      if (isPreface) {
        this.#http2.emit("connection", socket);
        return;
      }
      socket.allowHalfOpen = true;
      for (const speak of speakHttp1) speak.call(this.server, socket);
    };
    socket.on("readable", onReadable);
    return undefined;
  }
}
