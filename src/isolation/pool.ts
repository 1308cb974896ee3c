import { describeError } from "../execution/describe-error.ts";
import type { Log } from "../internal/log.ts";
import { arriveError } from "./crossing.ts";
import type { IsolatedCall } from "./isolated-call.ts";
import type { FromThread } from "./protocol.ts";
import { Thread, type ThreadOptions } from "./thread.ts";

// A pool of this package's own. With piscina 5.3 or tinypool 2.2 a call takes about twice as long
// (bench/isolation.ts), since what crosses during a call needs a channel of its own each time. Above
// all they settle an aborted call when they tell its thread to end, not when it has ended, which
// would let a second attempt of a call start beside the first; tinypool never settles a call whose
// thread exits; and neither can take a call back that a blocked thread has not begun.
//
// I1  A thread has at most one call; a call at most one thread.
// I2  At most `maxWorkers` threads exist, those that are ending included, so that what can't be
//     ended at once doesn't pile up.
// I3  No thread exists before the first call; one that is idle for `idleMs` ends.
// I4  Calls that wait are served in order.

/** What a pool needs. */
export interface PoolOptions extends ThreadOptions {
  readonly maxWorkers: number;
  /** How long a thread without a call is kept, in milliseconds. */
  readonly idleMs: number;
  readonly log: Log;
}

interface Seat {
  readonly thread: Thread;
  call: IsolatedCall | undefined;
  idle: NodeJS.Timeout | undefined;
  /** It takes no more calls. */
  isLeaving: boolean;
}

/** How often the memory of threads is looked at, in milliseconds. */
const watchMs = 100;
/** How long closing waits for threads to end, in milliseconds. */
const closeMs = 500;

/** Threads that run isolated calls, one each at a time. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #seats = new Map<Thread, Seat>();
  readonly #waiting: IsolatedCall[] = [];
  #watch: NodeJS.Timeout | undefined;
  #isClosed = false;
  #goneWaiters: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** How many threads there are. */
  get size(): number {
    return this.#seats.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Has a thread run a call, as soon as there is one for it. */
  assign(call: IsolatedCall): void {
    this.#waiting.push(call);
    this.#serve();
  }

  /** A call does not need its thread, or its place in the queue, any more. */
  free(call: IsolatedCall, thread: Thread | undefined): void {
    const at = this.#waiting.indexOf(call);
    if (at >= 0) this.#waiting.splice(at, 1);
    const seat = thread && this.#seats.get(thread);
    if (seat?.call !== call) return;
    seat.call = undefined;
    this.#serve();
    if (seat.call === undefined) this.#rest(seat);
  }

  /** A call goes elsewhere, before all who wait. */
  again(call: IsolatedCall): void {
    for (const seat of this.#seats.values()) {
      if (seat.call !== call) continue;
      seat.call = undefined;
      seat.isLeaving = true;
      this.#options.log("warn", "thread_blocked");
    }
    if (this.#isClosed) return call.drop();
    this.#waiting.unshift(call);
    return this.#serve();
  }

  /** Ends every thread; calls that still run end with it. At most a little over half a second. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#waiting.splice(0)) call.drop();
    for (const seat of this.#seats.values()) {
      if (seat.call) void seat.thread.terminate("was terminated: the server is shutting down");
      else this.#leave(seat);
    }
    if (this.#seats.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#goneWaiters.push(resolve);
    const timer = setTimeout(() => {
      // It waits in the system, where nothing reaches it; it must not keep the process up.
      for (const { thread } of this.#seats.values()) thread.letGo();
      this.#options.log("warn", "thread_stuck", { threads: this.#seats.size });
      resolve();
    }, closeMs);
    await promise;
    clearTimeout(timer);
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const seat = this.#seat();
      if (!seat) return;
      const call = this.#waiting.shift();
      if (!call) return;
      clearTimeout(seat.idle);
      seat.call = call;
      seat.thread.setBusy(true);
      call.start(seat.thread);
    }
  }

  /** A thread without a call, a loaded one if there is any, else a new one if there may be. */
  #seat(): Seat | undefined {
    const free = [...this.#seats.values()].filter((seat) => !seat.call && !seat.isLeaving);
    const best = free.findLast((seat) => seat.thread.isReady) ?? free.at(-1);
    if (best || this.#seats.size >= this.#options.maxWorkers) return best;
    try {
      return this.#start();
    } catch (error) {
      this.#options.log("error", "thread_failed", { error });
      this.#waiting.shift()?.fail(`could not be started (${describeError(error).error})`);
      return undefined;
    }
  }

  #start(): Seat {
    const thread: Thread = new Thread(this.#options, {
      said: (message) => this.#receive(seat, message),
      gone: (cause) => this.#gone(seat, cause),
    });
    const seat: Seat = { thread, call: undefined, idle: undefined, isLeaving: false };
    this.#seats.set(thread, seat);
    this.#watch ??= setInterval(() => this.#watchMemory(), watchMs).unref();
    return seat;
  }

  #receive(seat: Seat, message: FromThread): void {
    const { log } = this.#options;
    if (message.kind === "log") {
      const { level, event, tool, error } = message;
      log(level, event, { tool, error: arriveError(error) });
    } else if (message.kind === "failed") {
      seat.isLeaving = true;
      log("error", "thread_failed", { why: message.message });
    } else if (message.kind !== "ready") {
      if (seat.call) seat.call.receive(message);
      else if (message.kind === "event") seat.thread.flow.receive(message.weight);
    }
  }

  #gone(seat: Seat, cause: string): void {
    this.#seats.delete(seat.thread);
    clearTimeout(seat.idle);
    const { call } = seat;
    seat.call = undefined;
    if (call) {
      this.#options.log("warn", "thread_lost", { why: cause });
      call.lost(cause);
    }
    this.#serve();
    if (this.#seats.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
    for (const resolve of this.#goneWaiters.splice(0)) resolve();
  }

  #watchMemory(): void {
    for (const { thread, call } of this.#seats.values()) if (call) void thread.watchMemory();
  }

  #rest(seat: Seat): void {
    if (seat.isLeaving) return;
    if (this.#isClosed) return this.#leave(seat);
    seat.thread.setBusy(false);
    seat.idle = setTimeout(() => this.#leave(seat), this.#options.idleMs).unref();
    return undefined;
  }

  #leave(seat: Seat): void {
    if (seat.isLeaving) return;
    seat.isLeaving = true;
    void seat.thread.end();
  }
}
