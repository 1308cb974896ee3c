import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { createContextValues } from "@connectrpc/connect";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import { toConnectError } from "../wire/faults.ts";
import { boundBody } from "./bound-body.ts";
import { Deadline } from "./deadline.ts";
import { type Gate, joined, readHead } from "./rpc-head.ts";
import { type RpcScope, scopeKey } from "./scope.ts";

/** A request over HTTP/1.1 or HTTP/2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** What the adapter needs. */
export interface AdapterOptions extends Gate {
  readonly handlers: ReadonlyMap<string, UniversalHandler>;
  /** How long a unary or server-streaming request's message may take to come, in milliseconds. */
  readonly bodyTimeoutMs: number;
  readonly log: Log;
}

/** Statuses that the framework answers with before it asks whether the RPC may go on. */
const ungated: ReadonlySet<number> = new Set([404, 405, 415, 505]);

/**
 * Makes the listener that serves RPCs over both versions of HTTP. Whatever comes in, it neither
 * throws nor leaves a promise behind.
 */
export function createRequestListener(
  options: AdapterOptions,
): (request: NodeRequest, response: NodeResponse) => void {
  const { log } = options;
  return (request, response) => {
    response.on("error", (error: Error) => log("debug", "response_error", { error }));
    serve(request, response, options).catch((error: unknown) => {
      // The peer went away in the midst of it, or its bytes were no HTTP that can be answered.
      log("debug", "request_failed", { error });
      if (response.headersSent) response.destroy?.();
      else respond(response, 400, {}, undefined);
    });
  };
}

async function serve(
  request: NodeRequest,
  response: NodeResponse,
  options: AdapterOptions,
): Promise<void> {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  const handler = options.handlers.get(path);
  const scope = openScope(request, path, options);
  const refusal = scope.refusal;
  if (!handler) {
    const text = `nothing is served at ${JSON.stringify(path.slice(0, 256))}`;
    return refuse(request, response, refusal ?? new ToolPortError("UNIMPLEMENTED", text), options);
  }
  const { deadline } = scope;
  response.once("close", () => deadline?.stop());
  const universal = toUniversal(request, response, scope);
  const body = universal.body as AsyncIterable<Uint8Array>;
  const kind = handler.method.methodKind;
  const isSingle = kind === "unary" || kind === "server_streaming";
  const answer = await handler({
    ...universal,
    body: boundBody(body, deadline, isSingle ? options.bodyTimeoutMs : undefined, options.log),
  });
  if (refusal && ungated.has(answer.status)) return refuse(request, response, refusal, options);
  return universalResponseToNodeResponse(answer, response);
}

/** What is known of the RPC, with its deadline running. */
function openScope(request: NodeRequest, path: string, options: AdapterOptions): RpcScope {
  const { principal, timeoutMs, refusal } = readHead(request.headers, path, options);
  const deadline = timeoutMs === undefined ? undefined : new Deadline(timeoutMs);
  return { principal, deadline, refusal, goneCause: watchCause(request) };
}

/**
 * Over HTTP/2 a cancel resets the stream and leaves the connection; over HTTP/1.1 a caller can only
 * close the connection, which a lost one can't be told from.
 */
function watchCause(request: NodeRequest): RpcScope["goneCause"] {
  // Asked for now: a stream that has ended no longer knows its session.
  const session = "stream" in request ? request.stream.session : undefined;
  return () => (session && !session.destroyed ? "cancelled" : "disconnected");
}

function toUniversal(
  request: NodeRequest,
  response: NodeResponse,
  scope: RpcScope,
): UniversalServerRequest {
  const { headers } = request;
  // Nothing reads the authority, but the framework parses it, and throws at one that is no host.
  if ("stream" in request) headers[":authority"] = "localhost";
  headers.host = "localhost";
  // The deadline is kept here: the framework's own timer fires at once beyond 2^31 ms.
  delete headers["grpc-timeout"];
  delete headers["connect-timeout-ms"];
  return universalRequestFromNodeRequest(
    request,
    response,
    undefined,
    createContextValues().set(scopeKey, scope),
  );
}

/** Answers without a handler, in the words of the protocol that the request speaks. */
function refuse(
  request: NodeRequest,
  response: NodeResponse,
  fault: ToolPortError,
  { log }: AdapterOptions,
): void {
  const error = toConnectError(fault, log);
  const type = joined(request.headers["content-type"]) ?? "";
  request.resume();
  if (/^application\/grpc\b/iu.test(type)) {
    const headers = Object.fromEntries(setTrailerStatus(new Headers(), error));
    return respond(response, 200, { ...headers, "content-type": type }, undefined);
  }
  const status = fault.code === "UNIMPLEMENTED" ? 404 : codeToHttpStatus(error.code);
  const bytes = errorToJsonBytes(error, undefined);
  return respond(response, status, { "content-type": "application/json" }, bytes);
}

function respond(
  response: NodeResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | undefined,
): void {
  // The peer may have gone meanwhile; then there is nobody to answer.
  if (response.writableEnded || response.headersSent) return;
  if (
    "stream" in response ? response.stream.destroyed || response.stream.closed : response.destroyed
  ) {
    return;
  }
  if ("stream" in response && body === undefined) {
    // gRPC takes a status among the headers only from a frame that ends the stream.
    response.stream.respond({ ":status": status, ...headers }, { endStream: true });
    return;
  }
  // One signature for both versions of HTTP, whose declarations differ.
  const target = response as ServerResponse;
  target.writeHead(status, headers);
  target.end(body);
}
