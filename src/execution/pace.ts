/** How many events all bodies together may send before timers and sockets get a turn. */
const eventsATurn = 64;

/**
 * Shares the event loop out among bodies that do nothing but write: such a body awaits nothing that
 * takes a turn of the loop, and neither do a thousand of them.
 */
export class Pace {
  #left = eventsATurn;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** Resolves when the next event may be sent; undefined where it may be now. */
  next(): Promise<void> | undefined {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#turn());
    }
    if (this.#left > 0) {
      this.#left -= 1;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #turn(): void {
    const some = this.#waiting.splice(0, eventsATurn);
    this.#left = eventsATurn - some.length;
    this.#isScheduled = this.#waiting.length > 0;
    if (this.#isScheduled) setImmediate(() => this.#turn());
    for (const resolve of some) resolve();
  }
}
