import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Executor } from "../../execution/port.ts";
import type { RunPort } from "../../execution/run-port.ts";
import type { Log } from "../../internal/log.ts";
import { ToolPortService } from "../../wire/v1.ts";
import { type Gate, readHead } from "../rpc-head.ts";
import type { ServerInfoInit } from "../server-info.ts";
import { serveExecute } from "./bare-execute.ts";
import { serveRun } from "./bare-run.ts";
import { Patience } from "./patience.ts";

// Execute and Run over gRPC, from an HTTP/2 stream straight to the executor. It takes what is the
// common case of these two; everything else about them, such as compressed messages, goes the
// adapter's way, and whoever calls can't tell which one it went.

/** What the bare path needs. */
export interface BarePathOptions extends Gate {
  readonly executor: Executor;
  /** Opens live runs; absent: Run is left to the adapter. */
  readonly runs?: RunPort | undefined;
  readonly digest: string;
  readonly server: ServerInfoInit;
  readonly maxMessageBytes: number;
  /** How long a call's message may take to come, in milliseconds. */
  readonly bodyMs: number;
  readonly log: Log;
}

/** Serves some RPCs without the adapter. */
export interface BarePath {
  /** @returns false for a stream that it does not serve, and has left as it was */
  serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
  /** Lets go of what it holds. */
  close(): void;
}

const executePath = `/${ToolPortService.typeName}/Execute`;
const runPath = `/${ToolPortService.typeName}/Run`;

/** Makes the bare path. */
export function createBarePath(options: BarePathOptions): BarePath {
  const { runs, log } = options;
  const patience = new Patience(options.bodyMs);
  const executeOptions = { ...options, patience };
  const runOptions = runs && { ...options, runs };

  function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const path = headers[":path"];
    if ((path !== executePath && path !== runPath) || !isPlain(headers)) return false;
    if (path === executePath)
      serveExecute(stream, readHead(headers, path, options), executeOptions);
    else if (runOptions) serveRun(stream, readHead(headers, path, options), runOptions);
    else return false;
    return true;
  }

  return {
    serve(stream, headers) {
      try {
        return serve(stream, headers);
      } catch (error) {
        // A stream whose peer has gone already.
        log("debug", "request_failed", { error });
        stream.destroy();
        return true;
      }
    },
    close: () => patience.close(),
  };
}

function isPlain(headers: IncomingHttpHeaders): boolean {
  const { "content-type": type, "grpc-encoding": encoding, expect } = headers;
  return (
    headers[":method"] === "POST" &&
    (type === "application/grpc" || type === "application/grpc+proto") &&
    (encoding === undefined || encoding === "identity") &&
    expect === undefined
  );
}
