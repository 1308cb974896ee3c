// The SDK of the Model Context Protocol over standard streams.
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { createMcpTools } from "./mcp-tools.ts";

serveStdio(createMcpTools);
