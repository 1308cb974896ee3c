import process from "node:process";
import { hasBusyThreads } from "../internal/busy-threads.ts";
import { currentTool } from "../internal/current-tool.ts";
import type { Log } from "../internal/log.ts";

/** What keeps tools from ending the process, or from writing where only the server may. */
export interface ProcessGuard {
  /** Writes to the real standard output. */
  writeStdout(text: string): void;
  /**
   * Ends the process; while the guard stands, `process.exit` is refused. Where a worker thread could
   * not be ended, nothing but SIGKILL ends the process before that thread comes back.
   */
  exit(code: number): never;
  /** Gives everything back as it was. Idempotent. */
  release(): void;
}

/**
 * Guards the process while it serves; put it up before any tool is loaded.
 *
 * - An error that nobody caught, in a stray timer or a promise left behind, is logged with the
 *   tool's name if it is known, and the process goes on.
 * - `process.exit`, `process.reallyExit` and `process.abort` throw where they are called.
 * - What is written to standard output goes to standard error.
 */
export function guardProcess(log: Log): ProcessGuard {
  const onException = (error: unknown): void => {
    log("error", "stray_error", { tool: currentTool(), error });
  };
  const onRejection = (error: unknown): void => {
    log("error", "stray_rejection", { tool: currentTool(), error });
  };
  const refuse = (name: string) => (): never => {
    const tool = currentTool();
    log("warn", "exit_refused", { tool, call: name });
    const who = tool === undefined ? "this code" : `the tool ${JSON.stringify(tool)}`;
    throw new Error(
      `${name} is refused while tools are served; ${who} must return or throw instead`,
    );
  };

  process.on("uncaughtException", onException);
  process.on("unhandledRejection", onRejection);
  const writeStdout = process.stdout.write.bind(process.stdout);
  const undo = [
    replace(process, "exit", refuse("process.exit")),
    replace(process as Unlisted, "reallyExit", refuse("process.reallyExit")),
    replace(process, "abort", refuse("process.abort")),
    replace(process.stdout, "write", process.stderr.write.bind(process.stderr)),
  ];

  const release = (): void => {
    process.off("uncaughtException", onException);
    process.off("unhandledRejection", onRejection);
    for (const giveBack of undo.splice(0)) giveBack();
  };
  return {
    writeStdout(text) {
      writeStdout(text);
    },
    exit(code) {
      release();
      if (hasBusyThreads()) process.kill(process.pid, "SIGKILL");
      return process.exit(code);
    },
    release,
  };
}

function replace<T extends object, K extends keyof T>(target: T, key: K, by: T[K]): () => void {
  const before = target[key];
  target[key] = by;
  return () => {
    target[key] = before;
  };
}

/** What Node.js has and its declarations don't. */
type Unlisted = typeof process & { reallyExit(code?: number): never };
