interface Due {
  readonly at: number;
  readonly run: () => void;
}

/**
 * A clock that moves only when told to: it stands in for `setTimeout` and `performance.now`, so that
 * a test of time limits takes no time. Turns of the loop and promises are as ever.
 */
export class Clock {
  #now: number = performance.now();
  #made = 0;
  readonly #due = new Map<number, Due>();
  readonly #before = {
    now: performance.now,
    set: globalThis.setTimeout,
    clear: globalThis.clearTimeout,
  };

  constructor() {
    performance.now = () => this.#now;
    globalThis.setTimeout = ((run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      this.#made += 1;
      this.#due.set(this.#made, { at: this.#now + Math.max(1, ms), run: () => run(...args) });
      return this.#made;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((handle: number) => this.#due.delete(handle)) as typeof clearTimeout;
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#due.size;
  }

  /** Lets time pass, and runs what is due in its order; what comes of that is for later turns. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      let next: readonly [number, Due] | undefined;
      for (const entry of this.#due) if (!next || entry[1].at < next[1].at) next = entry;
      if (!next || next[1].at > until) break;
      this.#due.delete(next[0]);
      this.#now = next[1].at;
      next[1].run();
    }
    this.#now = until;
  }

  /** Forgets every timer. */
  clear(): void {
    this.#due.clear();
  }

  /** Gives the real clock back. */
  release(): void {
    performance.now = this.#before.now;
    globalThis.setTimeout = this.#before.set;
    globalThis.clearTimeout = this.#before.clear;
  }
}
