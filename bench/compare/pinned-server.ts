import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { ServerCommand } from "./server-commands.ts";

/** The core that servers have to themselves, and the one of the client. */
export const serverCore = 0;
export const clientCore = 1;

const startsWithinMs = 30_000;
const endsWithinMs = 10_000;

/** A server that runs. */
export interface PinnedServer {
  readonly address: string;
  readonly pid: number;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** A command on one core. */
export function pinned(core: number, command: readonly string[]): [string, ...string[]] {
  return ["taskset", "-c", String(core), ...command];
}

/**
 * Starts a server on its core and waits until it listens.
 *
 * @param name for people
 * @throws Error where it ends, or does not listen in time
 */
export async function startPinned(name: string, command: ServerCommand): Promise<PinnedServer> {
  const folder = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  const [file, ...args] = pinned(serverCore, command(folder));
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(`ended with ${code ?? signal}`));
  });
  // Where this process has to go at once, no server outlives it.
  const killNow = (): void => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", killNow);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), endsWithinMs);
    await ended;
    clearTimeout(hard);
    process.off("exit", killNow);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const address = await Promise.race([
      addressOf(child),
      ended.then((how) => Promise.reject(new Error(`the server ${name} ${how}`))),
      after(startsWithinMs, `the server ${name} does not listen after ${startsWithinMs} ms`),
    ]);
    return { address, pid: Number(child.pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).once("line", (line) => {
      try {
        resolve((JSON.parse(line) as { address: string }).address);
      } catch (cause) {
        reject(new Error(`this is no line with an address: ${line}`, { cause }));
      }
    });
  });
}

function after(ms: number, message: string): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(message)), ms).unref();
  });
}
