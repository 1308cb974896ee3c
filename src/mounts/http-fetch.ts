import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Readable } from "node:stream";

import { Lines } from "./lines.ts";
import { NotSent } from "./not-sent.ts";

/** How long a connection that nothing uses is kept, in milliseconds; servers mostly give it 5 s. */
const idleMs = 4000;
/** How long the part of an answer may be that is looked at as one, in bytes. */
const maxLookBytes = 64 << 20;

/** Requests to one server. */
export interface HttpFetch {
  readonly fetch: typeof fetch;
  /** Closes the connections that nothing uses. */
  close(): void;
}

/**
 * A `fetch` for one server, as far as the SDK needs one. The platform's own gives an answer up that
 * is silent for five minutes, which a call may well be; and it doesn't say of a request that failed
 * whether the server can have seen it, which this one does by failing with {@link NotSent}.
 *
 * @param look is given the text of each message before it is read: a body, or a line of a stream
 */
export function createHttpFetch(look: (text: string) => void): HttpFetch {
  const options = { keepAlive: true, timeout: idleMs };
  const plain = new HttpAgent(options);
  const secure = new HttpsAgent(options);
  return {
    async fetch(input, init = {}) {
      const url = new URL(input instanceof Request ? input.url : input);
      const agent = url.protocol === "https:" ? secure : plain;
      return respond(await send(url, init, agent), look);
    },
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

function send(url: URL, init: RequestInit, agent: HttpAgent): Promise<IncomingMessage> {
  const { method = "GET", headers, body, signal } = init;
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method,
    agent,
    headers: Object.fromEntries(new Headers(headers)),
    ...(signal && { signal }),
  });
  return new Promise((resolve, reject) => {
    let isConnected = false;
    request.once("socket", (socket) => {
      if (!socket.connecting) isConnected = true;
      else {
        socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
          isConnected = true;
        });
      }
    });
    request.once("response", resolve);
    request.on("error", (error) => {
      const isUnseen = !isConnected && !signal?.aborted;
      reject(isUnseen ? new NotSent(textOf(error), { cause: error }) : error);
    });
    request.end(typeof body === "string" ? body : undefined);
  });
}

function respond(message: IncomingMessage, look: (text: string) => void): Response {
  const status = message.statusCode ?? 500;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const isStream = headers.get("content-type")?.includes("text/event-stream") ?? false;
  const hasBody = ![204, 205, 304].includes(status);
  if (!hasBody) message.resume();
  const body = hasBody
    ? (Readable.toWeb(
        Readable.from(looking(message, isStream, look)),
      ) as ReadableStream<Uint8Array>)
    : null;
  return new Response(body, { status, statusText: message.statusMessage ?? "", headers });
}

async function* looking(
  message: IncomingMessage,
  isStream: boolean,
  look: (text: string) => void,
): AsyncGenerator<Uint8Array> {
  const lines = new Lines(maxLookBytes);
  let isLooking = true;
  const see = (chunk: Uint8Array): void => {
    try {
      for (const line of lines.take(chunk)) {
        if (!isStream) look(line);
        else if (line.startsWith("data:")) look(line.slice(5));
      }
    } catch {
      isLooking = false;
    }
  };
  for await (const chunk of message as AsyncIterable<Buffer>) {
    if (isLooking) see(chunk);
    yield chunk;
  }
  if (isLooking && !isStream) look(lines.rest());
}

function textOf(error: NodeJS.ErrnoException): string {
  // A host with several addresses fails with one error for each, and no text of its own.
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  return first instanceof Error ? first.message : error.message;
}
