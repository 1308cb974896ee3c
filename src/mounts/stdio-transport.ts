import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

import { stringifyJson } from "../internal/json-text.ts";
import { after } from "../internal/timers.ts";
import { ServerChild } from "./child.ts";
import { Lines } from "./lines.ts";
import type { MountTarget } from "./mcp.ts";
import { NotSent } from "./not-sent.ts";
import type { Tap } from "./tap.ts";

/** How long a message may be, in bytes. */
const maxMessageBytes = 256 << 20;
/** How much of a line that is no message is told, in characters. */
const maxShown = 2000;
/** How long what a server wrote last may take to come after its end, in milliseconds. */
const lastWordsMs = 250;
/** How many lines of a server's standard error are remembered. */
const maxRemembered = 8;

/** What a server's process says beside the protocol. */
export interface StdioHooks {
  /** A line on its standard output that is no message. */
  noise(line: string): void;
  /** A line on its standard error. */
  stderr(line: string): void;
  /** The process has ended; `cause` completes "the server …". Called once, before `onclose`. */
  gone(cause: string): void;
}

/**
 * Speaks to a server over the standard streams of its process. The SDK's own transport skips lines
 * that are no messages without a word, tells of a server's end only once whatever that server started
 * has closed its pipes too, and writes arguments without their large integers' digits.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #target: Extract<MountTarget, { kind: "stdio" }>;
  readonly #tap: Tap;
  readonly #hooks: StdioHooks;
  readonly #remembered: string[] = [];
  #child: ServerChild | undefined;
  #isClosed = false;

  constructor(target: Extract<MountTarget, { kind: "stdio" }>, tap: Tap, hooks: StdioHooks) {
    this.#target = target;
    this.#tap = tap;
    this.#hooks = hooks;
  }

  /** The id of the process. By this and `stderr` the SDK knows a local server from a remote one. */
  get pid(): number | null {
    return this.#child?.process.pid ?? null;
  }

  /** Read here, so nobody else may. */
  get stderr(): null {
    return null;
  }

  /** The last lines of the server's standard error. */
  get lastWords(): readonly string[] {
    return this.#remembered;
  }

  async start(): Promise<void> {
    const child = new ServerChild(this.#target);
    this.#child = child;
    const { stdin, stdout, stderr } = child.process;
    const output = new Lines(maxMessageBytes);
    stdout?.on("data", (chunk: Buffer) => {
      try {
        for (const line of output.take(chunk)) this.#receive(line);
      } catch (error) {
        this.#fail(error as Error);
      }
    });
    const errors = new Lines(1 << 20);
    stderr?.on("data", (chunk: Buffer) => {
      try {
        for (const line of errors.take(chunk)) this.#hear(line);
      } catch {
        this.#hear("(a line that is too long to be shown)");
      }
    });
    stdin?.on("error", (error) => this.#fail(error));
    // Where it goes on for long, it does so without being able to answer.
    stdout?.once("end", () => setTimeout(() => child.kill(), lastWordsMs).unref());
    for (const stream of [stdout, stderr]) {
      stream?.on("error", (error: Error) => this.onerror?.(error));
    }
    void this.#watch(child, () => this.#hear(errors.rest()));
    await new Promise<void>((resolve, reject) => {
      child.process.once("spawn", resolve);
      void child.ended.then((cause) => reject(new Error(cause)));
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#tap.outgoing(message);
    const stdin = this.#child?.process.stdin;
    if (this.#isClosed || !stdin?.writable) throw new NotSent("its input is closed");
    if (!stdin.write(`${stringifyJson(message)}\n`)) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          stdin.off("drain", done).off("close", done);
          resolve();
        };
        stdin.once("drain", done).once("close", done);
      });
    }
  }

  /** Ends the process. At most a little over 0.8 s. */
  async close(): Promise<void> {
    await this.#child?.stop();
    this.#end();
  }

  async #watch(child: ServerChild, flush: () => void): Promise<void> {
    const cause = await child.ended;
    const { stdout, stderr } = child.process;
    await quiet([stdout, stderr]);
    stdout?.destroy();
    stderr?.destroy();
    flush();
    if (!this.#isClosed) this.#hooks.gone(cause);
    this.#end();
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    const message = parse(line);
    if (!message) return this.#hooks.noise(shown(line));
    this.#tap.text(line);
    const passed = this.#tap.incoming(message);
    if (passed) this.onmessage?.(passed);
    return undefined;
  }

  #hear(line: string): void {
    if (line.trim() === "") return;
    this.#remembered.push(shown(line));
    if (this.#remembered.length > maxRemembered) this.#remembered.shift();
    this.#hooks.stderr(shown(line));
  }

  /** A server that can't be heard, or doesn't hear, is of no use. */
  #fail(error: Error): void {
    this.onerror?.(error);
    this.#child?.kill();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }
}

function parse(line: string): JSONRPCMessage | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value = JSON.parse(line) as { readonly jsonrpc?: unknown };
    return value.jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}

function shown(line: string): string {
  return line.length > maxShown ? `${line.slice(0, maxShown)}…` : line;
}

/** Waits until the streams have ended, not for long. */
async function quiet(streams: readonly (NodeJS.ReadableStream | null)[]): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = after(lastWordsMs, late.resolve);
  const ends = streams.map(
    (stream) =>
      new Promise<void>((resolve) => {
        if (!stream?.readable) resolve();
        else stream.once("close", () => resolve());
      }),
  );
  await Promise.race([Promise.all(ends), late.promise]);
  timer.stop();
}
