import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createMcpHandler,
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

import { createStory, firstTools } from "./story.ts";

/** The story over HTTP, in the process of the test. */
export interface StoryOverHttp {
  readonly url: string;
  readonly port: number;
  /** The headers of the requests so far. */
  readonly headers: readonly IncomingMessage["headers"][];
  /** Ends as a process does: every connection is cut, every session forgotten. */
  kill(): Promise<void>;
}

/**
 * Serves the story.
 *
 * @param era `newer`: stateless; `older`: with sessions
 * @param port 0 has one picked
 */
export async function serveStory(era: "older" | "newer", port = 0): Promise<StoryOverHttp> {
  const headers: IncomingMessage["headers"][] = [];
  let kill = (): Promise<void> => Promise.resolve();
  const respond = era === "newer" ? newer(() => void kill()) : older(() => void kill());
  const server = createServer((request, response) => {
    headers.push(request.headers);
    void answer(request, response, respond);
  });
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  kill = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${bound}/mcp`, port: bound, headers, kill };
}

type Respond = (request: Request, body: unknown) => Promise<Response>;

function newer(die: () => void): Respond {
  const tools = [...firstTools];
  const handler = createMcpHandler(
    () => createStory(tools, { changed: () => handler.notify.toolsChanged(), die }),
    { legacy: "reject" },
  );
  return (request, parsedBody) => handler.fetch(request, { parsedBody });
}

function older(die: () => void): Respond {
  const tools = [...firstTools];
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request, parsedBody) => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (known) return await known.handleRequest(request, { parsedBody });
    if (id !== null) return new Response("no such session", { status: 404 });
    if (!isInitializeRequest(parsedBody)) return new Response("no session", { status: 400 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => void sessions.set(made, transport),
    });
    const server = createStory(tools, { changed: () => void server.sendToolListChanged(), die });
    await server.connect(transport);
    return await transport.handleRequest(request, { parsedBody });
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  respond: Respond,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const asked = new Request(`http://127.0.0.1${request.url ?? "/"}`, {
    method: request.method ?? "GET",
    headers: request.headers as Record<string, string>,
    signal: gone.signal,
    ...(body !== "" && { body }),
  });
  const made = await respond(asked, body === "" ? undefined : JSON.parse(body));
  response.writeHead(made.status, Object.fromEntries(made.headers));
  response.flushHeaders();
  const stream = made.body ? Readable.fromWeb(made.body as never) : Readable.from([]);
  await pipeline(stream, response).catch(() => {});
}
