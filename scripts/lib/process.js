import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { env, root } from "./run.js";

/**
 * Runs a command to its end, giving its output away a line at a time.
 *
 * @param options those of spawn, and `onLine(line, stream)` with stream `stdout` or `stderr`
 * @returns its exit code; a signal or a command that can't be run counts as 1
 */
export async function lines(command, args, { onLine, ...options } = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ...options,
  });
  const ended = new Promise((resolve) => {
    child.once("error", (error) => {
      onLine?.(`cannot run ${command}: ${error.message}`, "stderr");
      resolve(1);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
  for (const stream of ["stdout", "stderr"]) {
    createInterface({ input: child[stream] }).on("line", (line) => onLine?.(line, stream));
  }
  return await ended;
}
