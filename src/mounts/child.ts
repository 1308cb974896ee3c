import { type ChildProcess, spawn } from "node:child_process";

import { after } from "../internal/timers.ts";
import type { MountTarget } from "./mcp.ts";

/** How long a server may take to end once its input is closed, in milliseconds. */
const inputMs = 400;
/** How long it may take to end on SIGTERM, in milliseconds. */
const termMs = 400;

const isWindows = process.platform === "win32";

/** What a server may know of this process's environment; the rest may be secret. */
const passedOn: readonly string[] = isWindows
  ? [
      ...["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT"],
      ...["PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP"],
      ...["USERNAME", "USERPROFILE", "WINDIR"],
    ]
  : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/** Those that run; whatever way the process ends, they go with it. */
const running = new Set<ServerChild>();

/** The process of a mounted server. */
export class ServerChild {
  readonly process: ChildProcess;
  /** Resolves when the process has ended, or could not be started, with what became of it. */
  readonly ended: Promise<string>;
  #stopping: Promise<void> | undefined;

  constructor({ command, args, env, cwd }: Extract<MountTarget, { kind: "stdio" }>) {
    const inherited = passedOn.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    this.process = spawn(command, args, {
      env: { ...Object.fromEntries(inherited), ...env },
      cwd,
      stdio: "pipe",
      // A group of its own: what it starts in turn can be ended with it, and a terminal's interrupt
      // does not end it while calls are still to finish.
      detached: !isWindows,
      windowsHide: true,
    });
    this.ended = new Promise((resolve) => {
      this.process.once("error", (error: NodeJS.ErrnoException) => {
        if (this.process.pid === undefined) resolve(whyNotStarted(error, command, cwd));
      });
      this.process.once("exit", (code, signal) => {
        // What it started and left behind would keep its pipes open.
        this.#signal("SIGKILL");
        this.#forget();
        resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`);
      });
    });
    if (this.process.pid === undefined) return;
    running.add(this);
    if (running.size === 1) process.on("exit", killAll);
  }

  /** Ends the process: its input is closed, then SIGTERM, then SIGKILL. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Ends the process at once. */
  kill(): void {
    if (running.has(this)) this.#signal("SIGKILL");
  }

  async #stop(): Promise<void> {
    this.process.stdin?.end();
    if (await this.#endsWithin(inputMs)) return;
    this.#signal("SIGTERM");
    if (await this.#endsWithin(termMs)) return;
    this.#signal("SIGKILL");
    await this.ended;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const late = Promise.withResolvers<false>();
    const timer = after(ms, () => late.resolve(false));
    const inTime = await Promise.race([this.ended.then(() => true as const), late.promise]);
    timer.stop();
    return inTime;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.process;
    if (pid === undefined) return;
    try {
      if (isWindows) this.process.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // Nothing of it is left.
    }
  }

  #forget(): void {
    running.delete(this);
    if (running.size === 0) process.off("exit", killAll);
  }
}

function killAll(): void {
  for (const child of running) child.kill();
}

function whyNotStarted(
  error: NodeJS.ErrnoException,
  command: string,
  cwd: string | undefined,
): string {
  const quoted = JSON.stringify(command);
  // The system says the same of both.
  if (error.code === "ENOENT" && cwd !== undefined) {
    return `could not be started: ${quoted} or its working directory does not exist`;
  }
  if (error.code === "ENOENT") return `could not be started: there is no program ${quoted}`;
  if (error.code === "EACCES") return `could not be started: ${quoted} may not be run`;
  return `could not be started: ${error.message}`;
}
