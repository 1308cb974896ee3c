import { after, type Timer } from "../../internal/timers.ts";

/** Who waits for something that may not come. */
export interface Waiting {
  /** It has waited for long enough. */
  tooLate(): void;
}

/**
 * Gives up what has waited for too long. All wait equally long, so that one timer, for whoever has
 * waited longest, serves any number.
 */
export class Patience {
  readonly #ms: number;
  /** In the order of their dues. */
  readonly #dues = new Map<Waiting, number>();
  #timer: Timer | undefined;

  /** @param ms how long each may wait, in milliseconds */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Begins a wait. */
  wait(waiting: Waiting): void {
    this.#dues.set(waiting, performance.now() + this.#ms);
    this.#timer ??= after(this.#ms, () => this.#sweep());
  }

  /** Ends a wait: it came, or nobody waits any more. Idempotent. */
  stop(waiting: Waiting): void {
    this.#dues.delete(waiting);
  }

  /** Lets go of the timer. */
  close(): void {
    this.#timer?.stop();
    this.#dues.clear();
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [waiting, due] of this.#dues) {
      if (due > now) {
        this.#timer = after(due - now, () => this.#sweep());
        return;
      }
      this.#dues.delete(waiting);
      waiting.tooLate();
    }
  }
}
