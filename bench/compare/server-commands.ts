import { join } from "node:path";

/** Gives a command that serves until it gets SIGTERM, and prints `{"address":"…"}` once it listens. */
export type ServerCommand = (folder: string) => readonly string[];

export type ServerName =
  | "toolport-tcp"
  | "toolport-unix"
  | "toolport-memory"
  | "toolport-sqlite"
  | "connect-node"
  | "grpc-js"
  | "http2-echo"
  | "mcp-http"
  | "grpcio-aio"
  | "grpc-go";

const root = join(import.meta.dirname, "../..");
const servers = join(import.meta.dirname, "servers");

function toolport(...flags: readonly string[]): readonly string[] {
  const main = join(root, "dist/src/cli/main.js");
  const file = join(servers, "toolport-tools.js");
  return [process.execPath, main, "serve", file, "--log-level", "error", ...flags];
}

const overTcp = ["--address", "127.0.0.1:0", "--insecure-no-auth"];

/** The servers, by name. Each is given a folder of its own. */
export const serverCommands: Readonly<Record<ServerName, ServerCommand>> = {
  "toolport-tcp": () => toolport(...overTcp, "--journal", "none"),
  "toolport-unix": (folder) =>
    toolport("--address", `unix:${join(folder, "socket")}`, "--journal", "none"),
  "toolport-memory": () => toolport(...overTcp, "--journal", "memory"),
  "toolport-sqlite": (folder) => toolport(...overTcp, "--journal", join(folder, "journal.db")),
  "connect-node": () => [process.execPath, join(servers, "connect-node.ts")],
  "grpc-js": () => [process.execPath, join(servers, "grpc-js.ts")],
  "http2-echo": () => [process.execPath, join(servers, "http2-echo.ts")],
  "mcp-http": () => [process.execPath, join(servers, "mcp-http.ts")],
  "grpcio-aio": () => [join(root, ".venv/bin/python"), join(servers, "grpcio_aio.py")],
  "grpc-go": () => [join(root, ".build/bench/grpc-go-server")],
};
