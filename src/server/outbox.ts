// I1  Values come out in the order they went in; the end comes last and once.
// I2  `push` answers false exactly when the reader is behind; `room` is called once for it, when the
//     reader has caught up. A producer that heeds it holds at most `capacity` and one value more.
// I3  A reader that leaves is told of nothing more; `left` is called once, unless the end had come.

/** What the producer wants to know of its reader. */
export interface OutboxHooks {
  /** The reader has caught up after {@link Outbox.push} answered false. */
  room(): void;
  /** The reader has gone before the end. */
  left(): void;
}

/** How many values may wait, be they small: each costs more on its way than it weighs. */
const maxValues = 128;

/** How much may wait for a reader before the producer is asked to pause, in bytes. */
const defaultCapacity: number = 256 * 1024;

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(reason: unknown): void;
}

/** Turns callbacks into an async iterable that tells the producer when its reader is behind. */
export class Outbox<T> implements AsyncIterableIterator<T, undefined> {
  readonly #hooks: OutboxHooks;
  readonly #capacity: number;
  #values: { readonly value: T; readonly bytes: number }[] = [];
  #bytes = 0;
  #isBehind = false;
  #isOver = false;
  #error: { readonly reason: unknown } | undefined;
  readonly #waiters: Waiter<T>[] = [];

  constructor(hooks: OutboxHooks, capacity: number = defaultCapacity) {
    this.#hooks = hooks;
    this.#capacity = capacity;
  }

  /** How much waits for the reader, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Hands a value to the reader.
   *
   * @param bytes about how much memory it holds
   * @returns false to say: no more until `room` is called
   */
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

  /** Ends the stream after what was pushed; with a reason it fails. Idempotent. */
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
