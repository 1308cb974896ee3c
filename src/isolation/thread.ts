import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from "node:worker_threads";

import { describeError } from "../execution/describe-error.ts";
import { noteBusyThread } from "../internal/busy-threads.ts";
import { after, type Timer } from "../internal/timers.ts";
import type { MountListing } from "../mounts/mounted-capability.ts";
import { Flow } from "./flow.ts";
import type { FromThread, ThreadSetup, ToThread } from "./protocol.ts";

/** How long a tools file may take to load in a thread, beyond its own limit, in milliseconds. */
const loadMs = 70_000;
/** How long a thread may take to end when it is told to, in milliseconds. */
const endMs = 250;
/**
 * How far above its limit a thread's heap may really grow, in MiB. At its own limit V8 ends the thread
 * where it can, but the whole process where a single allocation, such as that of a long array, goes
 * more than 16 MiB beyond. So the limit is watched from outside, and V8's stands out of reach.
 */
const headroomMb = 4096;

/** What every thread is started with. */
export interface ThreadOptions {
  /** The absolute path of the tools file. */
  readonly toolsFile: string;
  /** What the mounts of the set listed, in order. */
  readonly mounted: readonly MountListing[];
  readonly digest: string;
  /** How much memory it may use, in MiB. */
  readonly maxMemoryMb: number;
}

/** What a thread reports to. */
export interface ThreadHooks {
  /** What it says of the call that it runs, or of an earlier one. */
  said(message: FromThread): void;
  /** It has ended; called once, and last. `cause` completes "the worker thread …". */
  gone(cause: string): void;
}

/** One worker thread, as the process sees it. */
export class Thread {
  readonly flow: Flow = new Flow();
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #hooks: ThreadHooks;
  readonly #ended: Promise<void>;
  readonly #maxBytes: number;
  #isMeasuring = false;
  #loading: Timer | undefined;
  #isReady = false;
  #cause: string | undefined;
  #seq = 0;

  /** @throws whatever keeps the system from starting a thread */
  constructor(options: ThreadOptions, hooks: ThreadHooks) {
    this.#hooks = hooks;
    const { port1, port2 } = new MessageChannel();
    const { toolsFile, mounted, digest, maxMemoryMb } = options;
    this.#maxBytes = maxMemoryMb * 2 ** 20;
    const setup: ThreadSetup = { port: port2, flow: this.flow.buffer, toolsFile, mounted, digest };
    // The same file as a source and as a build has another extension.
    const file = new URL(`./thread-main${import.meta.url.slice(-3)}`, import.meta.url);
    this.#worker = new Worker(file, {
      workerData: setup,
      transferList: [port2],
      name: "toolport-tools",
      resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb + headroomMb },
    });
    this.#port = port1.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (error: Error) => {
      this.#cause ??= causeOf(error);
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        this.#end(code);
        resolve();
      });
    });
    this.#loading = after(loadMs, () => {
      this.#cause ??= "did not finish loading the tools file";
      void this.terminate();
    });
  }

  /** Whether the tools file is loaded. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** How many calls it was given. */
  get calls(): number {
    return this.#seq;
  }

  /** Numbers the next call. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  say(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
    this.#port.postMessage(message);
  }

  /** Says whether it has a call, for which the process stays up. */
  setBusy(isBusy: boolean): void {
    noteBusyThread(this, isBusy);
    if (!isBusy) return this.letGo();
    this.#worker.ref();
    this.#port.ref();
    return undefined;
  }

  /** The process does not stay up for it any more. */
  letGo(): void {
    this.#worker.unref();
    this.#port.unref();
  }

  /** Looks how much memory the thread uses, also while its loop is busy, and ends it over the limit. */
  async watchMemory(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    try {
      const { used_heap_size: heap, external_memory: outside } =
        await this.#worker.getHeapStatistics();
      if (heap + outside > this.#maxBytes) await this.terminate("ran out of memory");
    } catch {
      // It has ended meanwhile, or has not begun.
    }
    this.#isMeasuring = false;
  }

  /** Lets an idle thread end by itself, its `exit` handlers included. */
  async end(): Promise<void> {
    this.say({ kind: "end" });
    const timer = after(endMs, () => void this.terminate());
    await this.#ended;
    timer.stop();
  }

  /**
   * Ends the thread whatever it does.
   *
   * @returns when it has ended; code that waits inside the system delays that until it comes back
   */
  async terminate(cause = "was terminated"): Promise<void> {
    this.#cause ??= cause;
    await this.#worker.terminate();
    await this.#ended;
  }

  #receive(message: FromThread): void {
    if (message.kind === "ready") {
      this.#isReady = true;
      this.#stopLoading();
    }
    if (message.kind === "failed") this.#cause ??= `cannot be used: ${message.message}`;
    this.#hooks.said(message);
  }

  #end(code: number): void {
    this.#stopLoading();
    // What it said before its end may not have been received yet.
    for (;;) {
      const next: { message: FromThread } | undefined = receiveMessageOnPort(this.#port);
      if (!next) break;
      this.#receive(next.message);
    }
    this.#port.close();
    noteBusyThread(this, false);
    this.#hooks.gone(this.#cause ?? `ended with exit code ${code}`);
  }

  #stopLoading(): void {
    this.#loading?.stop();
    this.#loading = undefined;
  }
}

function causeOf(error: Error & { code?: unknown }): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return "ran out of memory";
  return `failed with ${describeError(error).error}`;
}
