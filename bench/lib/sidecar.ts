import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "../..");

/** A sidecar in a process of its own, built from this tree. */
export interface BenchSidecar {
  /** As grpc-js takes it. */
  readonly address: string;
  /** The memory that it takes, in bytes. */
  residentBytes(): number;
  /** The processor time that its main thread has had, and that it waited for a processor, in ms. */
  mainThread(): { readonly ranMs: number; readonly waitedMs: number };
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Serves the text of a tools file; `toolport` in it is the built package.
 *
 * @param args more arguments for `serve`
 */
export async function startSidecar(
  toolsText: string,
  args: readonly string[],
): Promise<BenchSidecar> {
  const main = join(root, "dist/src/cli/main.js");
  if (!existsSync(main)) throw new Error("dist is missing: run `npm run build` first");
  const folder = mkdtempSync(join(tmpdir(), "toolport-bench-"));
  const tools = join(folder, "tools.ts");
  const entry = JSON.stringify(pathToFileURL(join(root, "dist/src/index.js")).href);
  writeFileSync(tools, toolsText.replaceAll('"toolport"', entry));
  const child = spawn(process.execPath, [main, "serve", tools, "--log-level", "error", ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const address = await Promise.race([readyAddress(child), ended]);
  if (address === undefined) throw new Error("the sidecar ended before it was ready");
  return {
    address,
    residentBytes: () => residentBytes(child),
    mainThread: () => mainThread(child),
    stop,
  };
}

function readyAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).once("line", (line) => {
      resolve((JSON.parse(line) as { address: string }).address);
    });
  });
}

function mainThread({ pid }: ChildProcess): { ranMs: number; waitedMs: number } {
  const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
}

function residentBytes({ pid }: ChildProcess): number {
  const kib = /^VmRSS:\s+(?<kib>\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kib?.groups?.["kib"]) * 1024;
}
