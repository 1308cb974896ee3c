import { after, type Timer } from "../internal/timers.ts";

/** How long a body may run, all in milliseconds from its start; undefined: as long as it likes. */
export interface TimeLimits {
  /** What the request asked for. */
  readonly requestMs: number | undefined;
  /** The tool's own limit, which each progress report starts anew. */
  readonly toolMs: number | undefined;
  /** The tool's hard cap, whatever the progress; its own limit where it has none. */
  readonly capMs: number | undefined;
}

/** Watches a body's time limit. */
export class TimeLimit {
  readonly #limits: TimeLimits;
  readonly #startedAt: number;
  readonly #passed: (allowedMs: number) => void;
  #extendedAt: number;
  #timer: Timer | undefined;

  /** @param passed is called once with the milliseconds that were allowed, unless stopped before */
  constructor(limits: TimeLimits, startedAt: number, passed: (allowedMs: number) => void) {
    this.#limits = limits;
    this.#startedAt = startedAt;
    this.#extendedAt = startedAt;
    this.#passed = passed;
    this.#watch();
  }

  /** The tool has made progress. */
  extend(): void {
    this.#extendedAt = performance.now();
  }

  stop(): void {
    this.#timer?.stop();
    this.#timer = undefined;
  }

  #watch(): void {
    const due = this.#dueAt();
    if (due === Infinity) return;
    this.#timer = after(due - performance.now(), () => {
      // Extending only moves the mark, so that progress costs no timer.
      if (this.#dueAt() > performance.now()) this.#watch();
      else this.#passed(Math.round(this.#dueAt() - this.#startedAt));
    });
  }

  #dueAt(): number {
    const { requestMs = Infinity, toolMs = Infinity, capMs = toolMs } = this.#limits;
    const own = Math.min(this.#extendedAt + toolMs, this.#startedAt + capMs);
    return Math.min(this.#startedAt + requestMs, own);
  }
}
