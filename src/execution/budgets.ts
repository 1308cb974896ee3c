import type { Journal, RunKey } from "../journal/journal.ts";

/** How many (run, tool) pairs are counted in memory where there is no journal to count. */
const maxRemembered = 10_000;

interface Count {
  /** Calls counted so far, those that are only admitted included. */
  used: number;
  /** Calls that are admitted and have not ended. */
  open: number;
  ready: Promise<void> | undefined;
}

/**
 * Counts the calls of each tool in each run against `maxCallsPerInvocation`. With a journal it is
 * the journal that counts, so that a restart forgets nothing; calls that are only admitted are
 * added in memory, so that two at once can't both take the last place.
 */
export class Budgets {
  readonly #journal: Journal | undefined;
  readonly #counts = new Map<string, Count>();

  constructor(journal: Journal | undefined) {
    this.#journal = journal;
  }

  /** Takes one call off the budget, if one is left. */
  async take(run: RunKey, tool: string, max: number): Promise<boolean> {
    const key = JSON.stringify([run.principal, run.runId, tool]);
    const count = this.#counts.get(key) ?? { used: 0, open: 0, ready: undefined };
    this.#counts.delete(key);
    this.#counts.set(key, count);
    count.open += 1;
    const ready = (count.ready ??= this.#load(count, run, tool));
    try {
      await ready;
    } catch (error) {
      if (count.ready === ready) count.ready = undefined;
      this.#close(key, count);
      throw error;
    }
    if (count.used >= max) {
      this.#close(key, count);
      return false;
    }
    count.used += 1;
    return true;
  }

  /** Says that a call that took from the budget has ended; `started` false gives its place back. */
  done(run: RunKey, tool: string, started: boolean): void {
    const key = JSON.stringify([run.principal, run.runId, tool]);
    const count = this.#counts.get(key);
    if (!count) return;
    if (!started) count.used -= 1;
    this.#close(key, count);
  }

  async #load(count: Count, run: RunKey, tool: string): Promise<void> {
    if (this.#journal) count.used = await this.#journal.started(run, tool);
  }

  #close(key: string, count: Count): void {
    count.open -= 1;
    if (count.open > 0) return;
    if (this.#journal) this.#counts.delete(key);
    else if (this.#counts.size > maxRemembered) {
      for (const [oldest, { open }] of this.#counts) {
        if (open > 0) continue;
        this.#counts.delete(oldest);
        break;
      }
    }
  }
}
