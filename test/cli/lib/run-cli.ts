import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "../../..");
const main = join(root, "dist/src/cli/main.js");
const entry = pathToFileURL(join(root, "dist/src/index.js")).href;

/** What a command came to. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A sidecar in a process of its own. */
export interface Sidecar {
  readonly child: ChildProcess;
  readonly ready: { address: string; digest: string; pid: number; tokenFile?: string };
  /** All that it wrote so far. */
  output(): { readonly stdout: string; readonly stderr: string };
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** A folder for one test file's own files. */
export class Workplace {
  readonly path: string = mkdtempSync(join(tmpdir(), "toolport-cli-"));
  readonly #sidecars: Sidecar[] = [];

  /** Writes a tools file; `toolport` in it is the built package. Returns its path. */
  write(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text.replaceAll('"toolport"', JSON.stringify(entry)));
    return path;
  }

  /** Runs a command to its end. */
  async run(
    args: readonly string[],
    env: Record<string, string> = {},
    input = "",
  ): Promise<Finished> {
    const child = this.#spawn(args, env);
    child.stdin?.end(input);
    const stdout = gather(child.stdout);
    const stderr = gather(child.stderr);
    const code = await ended(child);
    return { code, stdout: stdout(), stderr: stderr() };
  }

  /** Starts `serve` and waits for its ready line. */
  async serve(args: readonly string[], env: Record<string, string> = {}): Promise<Sidecar> {
    const child = this.#spawn(["serve", ...args], env);
    const stdout = gather(child.stdout);
    const stderr = gather(child.stderr);
    const end = ended(child);
    const line = await Promise.race([firstLine(child), end.then(() => undefined)]);
    if (line === undefined) throw new Error(`the sidecar ended before it was ready: ${stderr()}`);
    const sidecar: Sidecar = {
      child,
      ready: JSON.parse(line) as Sidecar["ready"],
      output: () => ({ stdout: stdout(), stderr: stderr() }),
      async stop(signal = "SIGTERM") {
        if (child.exitCode === null) child.kill(signal);
        return await end;
      },
    };
    this.#sidecars.push(sidecar);
    return sidecar;
  }

  /** Starts a command without waiting for it. */
  start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    return this.#spawn(args, env);
  }

  /** Runs a shell script with Node as `$0` and the command line's file as `$1`. */
  shell(script: string): ChildProcess {
    return spawn("/bin/sh", ["-c", script, process.execPath, main], { stdio: "pipe" });
  }

  async remove(): Promise<void> {
    await Promise.all(this.#sidecars.map((sidecar) => sidecar.stop("SIGKILL")));
    rmSync(this.path, { recursive: true, force: true });
  }

  #spawn(args: readonly string[], env: Record<string, string>): ChildProcess {
    if (!existsSync(main)) throw new Error("dist is missing: run `npm run build` first");
    return spawn(process.execPath, [main, ...args], {
      cwd: this.path,
      env: { PATH: process.env["PATH"], TMPDIR: this.path, NO_COLOR: "1", ...env },
      stdio: "pipe",
    });
  }
}

/** Waits for a process's end; returns its exit code. */
export function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once("close", (code) => resolve(code));
  });
}

/** Collects what a stream says; call it for what came so far. */
export function gather(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** Waits until a condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (child.stdout) createInterface({ input: child.stdout }).once("line", resolve);
  });
}
