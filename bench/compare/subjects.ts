import { join } from "node:path";

import type { ServerName } from "./server-commands.ts";

// What is compared. Each subject is a server with a way to call it. A feature that can be on or off,
// such as a journal or telemetry, is a server of its own with other flags, and a subject here.

/** The tools that all servers have: `add` answers some 60 bytes, `page` 64 KiB. */
export const tools = ["add", "page"] as const;
export type Tool = (typeof tools)[number];

/**
 * What it is compared within: calls of their own; many calls on one stream; Python clients that make
 * many calls on one stream of the same server.
 */
export type Family = "unary" | "stream" | "python";

export interface Subject {
  /** For people. */
  readonly title: string;
  readonly family: Family;
  /** Absent: the client starts `child`. */
  readonly server?: ServerName;
  /** The command that makes the calls. */
  readonly client: readonly string[];
  /** The command of a server that is its client's child. */
  readonly child?: readonly string[];
  /** Absent: all of them. */
  readonly tools?: readonly Tool[];
}

export type SubjectName =
  | "toolport-unary"
  | "toolport-unary-unix"
  | "connect-unary"
  | "grpc-js-unary"
  | "http2-echo"
  | "mcp-http"
  | "grpcio-unary"
  | "grpc-go-unary"
  | "toolport-run"
  | "toolport-run-unix"
  | "toolport-run-memory"
  | "toolport-run-sqlite"
  | "connect-bidi"
  | "grpc-js-bidi"
  | "mcp-stdio"
  | "grpcio-bidi"
  | "grpc-go-bidi"
  | "python-run"
  | "python-run-unix"
  | "python-grpcio";

const goClient = join(import.meta.dirname, "../../.build/bench/load-client");
const unary = [goClient, "-mode", "unary", "-method"];
const run = [goClient, "-mode", "run"];
const pythonClient = [
  join(import.meta.dirname, "../../.venv/bin/python"),
  join(import.meta.dirname, "clients/python_run.py"),
];
const mcpStdio = join(import.meta.dirname, "servers/mcp-stdio.ts");

/** The subjects, by name. */
export const subjects: Readonly<Record<SubjectName, Subject>> = {
  "toolport-unary": {
    title: "toolport Execute",
    family: "unary",
    server: "toolport-tcp",
    client: [...unary, "Execute"],
  },
  "toolport-unary-unix": {
    title: "toolport Execute, unix socket",
    family: "unary",
    server: "toolport-unix",
    client: [...unary, "Execute"],
  },
  "connect-unary": {
    title: "connect-node",
    family: "unary",
    server: "connect-node",
    client: [...unary, "Refuse"],
  },
  "grpc-js-unary": {
    title: "grpc-js",
    family: "unary",
    server: "grpc-js",
    client: [...unary, "Refuse"],
  },
  "http2-echo": {
    title: "node:http2 core echo",
    family: "unary",
    server: "http2-echo",
    client: [...unary, "Echo"],
    // What is sent is as long as what is answered, so a page would be sent twice.
    tools: ["add"],
  },
  "mcp-http": {
    title: "MCP Streamable HTTP",
    family: "unary",
    server: "mcp-http",
    client: [goClient, "-mode", "mcp-http"],
  },
  "grpcio-unary": {
    title: "grpcio.aio",
    family: "unary",
    server: "grpcio-aio",
    client: [...unary, "Refuse"],
  },
  "grpc-go-unary": {
    title: "grpc-go",
    family: "unary",
    server: "grpc-go",
    client: [...unary, "Refuse"],
  },
  "toolport-run": {
    title: "toolport Run",
    family: "stream",
    server: "toolport-tcp",
    client: run,
  },
  "toolport-run-unix": {
    title: "toolport Run, unix socket",
    family: "stream",
    server: "toolport-unix",
    client: run,
  },
  "toolport-run-memory": {
    title: "toolport Run, journal in memory",
    family: "stream",
    server: "toolport-memory",
    client: run,
    // A journal in memory is soon full of pages.
    tools: ["add"],
  },
  "toolport-run-sqlite": {
    title: "toolport Run, SQLite journal",
    family: "stream",
    server: "toolport-sqlite",
    client: run,
  },
  "connect-bidi": {
    title: "connect-node",
    family: "stream",
    server: "connect-node",
    client: run,
  },
  "grpc-js-bidi": {
    title: "grpc-js",
    family: "stream",
    server: "grpc-js",
    client: run,
  },
  "mcp-stdio": {
    title: "MCP stdio",
    family: "stream",
    client: [goClient, "-mode", "mcp-stdio"],
    child: [process.execPath, mcpStdio],
  },
  "grpcio-bidi": {
    title: "grpcio.aio",
    family: "stream",
    server: "grpcio-aio",
    client: run,
  },
  "grpc-go-bidi": {
    title: "grpc-go",
    family: "stream",
    server: "grpc-go",
    client: run,
  },
  "python-run": {
    title: "toolport's client",
    family: "python",
    server: "toolport-tcp",
    client: [...pythonClient, "toolport"],
  },
  "python-run-unix": {
    title: "toolport's client, unix socket",
    family: "python",
    server: "toolport-unix",
    client: [...pythonClient, "toolport"],
  },
  "python-grpcio": {
    title: "grpcio.aio",
    family: "python",
    server: "toolport-tcp",
    client: [...pythonClient, "grpcio"],
  },
};
