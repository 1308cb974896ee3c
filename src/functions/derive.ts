import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

import { ConfigurationError } from "../errors.ts";
import { parseJson, stringifyJson } from "../internal/json-text.ts";
import { after } from "../internal/timers.ts";
import type { DeriveRequest, DeriveResponse } from "./protocol.ts";

const deriveMs = 60_000;

/** Whether the compiler that derives schemas is installed beside this package. */
export function hasCompiler(): boolean {
  try {
    import.meta.resolve("typescript/unstable/sync");
    return true;
  } catch {
    return false;
  }
}

/**
 * Describes functions by their source, in one process for all of them.
 *
 * @throws ConfigurationError where that process fails as a whole
 */
export async function derive(request: DeriveRequest): Promise<DeriveResponse> {
  // The same file as a source and as a build has another extension.
  const main = new URL(`./derive-main${import.meta.url.slice(-3)}`, import.meta.url);
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const child = spawn(process.execPath, ["--no-warnings", fileURLToPath(main)], {
    cwd: request.folder,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const timer = after(deriveMs, () => child.kill("SIGKILL"));
  const ended = Promise.withResolvers<number | null>();
  child.once("error", ended.reject);
  child.once("close", ended.resolve);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  // One that ends at once says why by itself.
  child.stdin.on("error", () => {});
  child.stdin.end(stringifyJson(request));
  try {
    const code = await ended.promise;
    if (code === 0) return parseJson(Buffer.concat(out).toString()) as unknown as DeriveResponse;
    const why = lastLine(Buffer.concat(err).toString()) || `it ended with code ${String(code)}`;
    throw new ConfigurationError(`the compiler that reads plain functions fails: ${why}`);
  } finally {
    timer.stop();
  }
}

/** Of what a process that fails prints, the error itself. */
function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (lines.find((line) => /^\w*Error\b/u.test(line)) ?? lines.at(-1) ?? "").trim();
}
