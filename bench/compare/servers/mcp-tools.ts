import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

import { textOf } from "./answer.ts";

const inputSchema = z.object({ a: z.number(), b: z.number() });

/** The benchmark's tools on the official SDK of the Model Context Protocol, as its readme has it. */
export function createMcpTools(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  for (const name of ["add", "page"]) {
    server.registerTool(name, { description: "Adds two numbers.", inputSchema }, (numbers) => ({
      content: [{ type: "text", text: textOf(name, numbers) }],
    }));
  }
  return server;
}
