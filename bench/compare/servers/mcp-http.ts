// The SDK of the Model Context Protocol over Streamable HTTP: with sessions, and answers as JSON,
// which is its faster way.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";

import { createMcpTools } from "./mcp-tools.ts";

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  await (known ?? (await openSession())).handleRequest(request, response);
}

async function openSession(): Promise<NodeStreamableHTTPServerTransport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createMcpTools().connect(transport);
  return transport;
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ address: `http://127.0.0.1:${port}/mcp` }));
});
