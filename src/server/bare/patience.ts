import { SlotMap } from "../../internal/slot-map.ts";
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
  /** By number, in the order of their dues. */
  readonly #all = new SlotMap<number, { readonly waiting: Waiting; readonly due: number }>();
  #last = 0;
  #timer: Timer | undefined;

  /** @param ms how long each may wait, in milliseconds */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /**
   * Begins a wait.
   *
   * @returns its number, for {@link stop}; at least 1
   */
  wait(waiting: Waiting): number {
    this.#last += 1;
    this.#all.set(this.#last, { waiting, due: performance.now() + this.#ms });
    this.#timer ??= after(this.#ms, () => this.#sweep());
    return this.#last;
  }

  /** Ends a wait: it came, or nobody waits any more. Idempotent. */
  stop(number: number): void {
    this.#all.delete(number);
  }

  /** Lets go of the timer. */
  close(): void {
    this.#timer?.stop();
    this.#all.clear();
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [number, { waiting, due }] of this.#all) {
      if (due > now) {
        this.#timer = after(due - now, () => this.#sweep());
        return;
      }
      this.#all.delete(number);
      waiting.tooLate();
    }
  }
}
