import { fileURLToPath } from "node:url";

import { mcp } from "toolport";

const handbook = new URL("../data/handbook/", import.meta.url);
const server = import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js");

/**
 * The handbook's pages as files: an MCP server from npm, started with the set and ended with it. It
 * reaches no folder but this one. Its tools keep their names behind the prefix.
 */
export const handbookFiles = mcp({
  name: "handbook-files",
  command: process.execPath,
  args: [fileURLToPath(server), fileURLToPath(handbook)],
  prefix: "handbook_",
});
