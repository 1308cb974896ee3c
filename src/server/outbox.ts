import type { Outlet, OutletHooks } from "./outlet.ts";

// I1  Values come out in the order they went in; the end comes last and once.
// I2  `push` answers false exactly when the reader is behind; `room` is called once for it, when the
//     reader has caught up. A producer that heeds it holds at most `capacity` and one value more.
// I3  A reader that leaves is told of nothing more; `left` is called once, unless the end had come.

/** How many values may wait, be they small: each costs more on its way than it weighs. */
const maxValues = 128;

/** How much may wait for a reader before the producer is asked to pause, in bytes. */
const defaultCapacity: number = 256 * 1024;

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(reason: unknown): void;
}

/** Turns callbacks into an async iterable that tells the producer when its reader is behind. */
export class Outbox<T> implements AsyncIterableIterator<T, undefined>, Outlet<T> {
  readonly #hooks: OutletHooks;
  readonly #capacity: number;
  #values: { readonly value: T; readonly bytes: number }[] = [];
  #bytes = 0;
  #isBehind = false;
  #isOver = false;
  #error: { readonly reason: unknown } | undefined;
  readonly #waiters: Waiter<T>[] = [];

  constructor(hooks: OutletHooks, capacity: number = defaultCapacity) {
    this.#hooks = hooks;
    this.#capacity = capacity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(value: T, bytes: number): boolean {
    if (this.#isOver) return true;
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.resolve({ done: false, value });
      return true;
    }
    this.#values.push({ value, bytes });
    this.#bytes += bytes;
    this.#isBehind ||= this.#bytes >= this.#capacity || this.#values.length >= maxValues;
    return !this.#isBehind;
  }

  end(error?: { readonly reason: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const head = this.#values.shift();
    if (head) {
      this.#bytes -= head.bytes;
      if (this.#isBehind && this.#values.length === 0) {
        this.#isBehind = false;
        this.#hooks.room();
      }
      return Promise.resolve({ done: false, value: head.value });
    }
    return new Promise((resolve, reject) => {
      if (this.#isOver) this.#finish({ resolve, reject });
      else this.#waiters.push({ resolve, reject });
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    const wasOver = this.#isOver;
    this.#error = undefined;
    this.#values = [];
    this.#bytes = 0;
    this.end();
    if (!wasOver) this.#hooks.left();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(reason: unknown): Promise<IteratorResult<T, undefined>> {
    return this.return().then(() => Promise.reject(reason as Error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(waiter: Waiter<T>): void {
    const error = this.#error;
    this.#error = undefined;
    if (error) waiter.reject(error.reason);
    else waiter.resolve({ done: true, value: undefined });
  }
}
