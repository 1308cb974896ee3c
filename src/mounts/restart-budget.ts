import type { McpMount } from "./mcp.ts";

/** The longest wait between two attempts, in milliseconds. */
const longestMs = 5000;

/** Whether, and how soon, a server may be started or reached again. */
export type Permit =
  | { readonly ok: true; readonly waitMs: number }
  /** The limit is reached; the next attempt is allowed after this many milliseconds. */
  | { readonly ok: false; readonly againMs: number };

/**
 * Counts the attempts to bring a server back: at most `limit` within `withinMs`, each waiting twice
 * as long after the one before. One that comes long after the last does not wait.
 */
export class RestartBudget {
  readonly #options: McpMount["restart"];
  readonly #now: () => number;
  #attempts: number[] = [];

  /** @param now the time in milliseconds, by a clock that only goes forward */
  constructor(options: McpMount["restart"], now: () => number = () => performance.now()) {
    this.#options = options;
    this.#now = now;
  }

  /** Takes an attempt, to be made after `waitMs`. A refused one is not counted. */
  take(): Permit {
    const { limit, withinMs, delayMs } = this.#options;
    const now = this.#now();
    this.#attempts = this.#attempts.filter((at) => at > now - withinMs);
    const [oldest = now] = this.#attempts;
    if (this.#attempts.length >= limit) return { ok: false, againMs: oldest + withinMs - now };
    const last = this.#attempts.at(-1);
    const delay = Math.min(delayMs * 2 ** (this.#attempts.length - 1), longestMs);
    const waitMs = last === undefined ? 0 : Math.max(0, last + delay - now);
    this.#attempts.push(now + waitMs);
    return { ok: true, waitMs };
  }
}
