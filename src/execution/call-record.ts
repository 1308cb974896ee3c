import type { Outcome } from "../domain/call.ts";
import { isToolPortError, ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import type { CallKey, Ending, Journal } from "../journal/journal.ts";

/** How long to wait before a failed write is tried again, in milliseconds; doubled each time. */
const firstRetryMs = 50;
const longestRetryMs = 5000;

/**
 * One claimed attempt's place in the journal. Writes happen in order; a failed one is tried again
 * until it succeeds or the journal is closed, so that what ended is never forgotten while the
 * process lives.
 */
export class CallRecord {
  readonly #journal: Journal;
  readonly #key: CallKey;
  readonly #attempt: number;
  readonly #log: Log;
  readonly #isClosed: () => boolean;
  #writes: Promise<unknown> = Promise.resolve();
  #kept: Promise<void> = Promise.resolve();

  constructor(journal: Journal, key: CallKey, attempt: number, log: Log, isClosed: () => boolean) {
    this.#journal = journal;
    this.#key = key;
    this.#attempt = attempt;
    this.#log = log;
    this.#isClosed = isClosed;
  }

  /**
   * Records the outcome.
   *
   * @returns when it is durable; rejects with JOURNAL_UNAVAILABLE at the first failure, after which
   *   {@link settled} tells of the retries
   */
  outcome(outcome: Outcome): Promise<void> {
    const first = this.#first({ kind: "outcome", outcome });
    this.#kept = first.catch((error) => this.#retry({ kind: "outcome", outcome }, error));
    this.#kept.catch(() => {});
    this.#writes = this.#kept;
    return first;
  }

  /** Records that the attempt was abandoned after its tool had started. */
  async lost(): Promise<void> {
    await this.#append({ kind: "lost" });
  }

  /** Records that the attempt ended before its tool had started. */
  async released(): Promise<void> {
    await this.#append({ kind: "released" });
  }

  /** Records, or notes, an outcome that came after the call's end. */
  late(outcome: Outcome): void {
    void this.#append({ kind: "outcome", outcome });
  }

  /** Resolves when the outcome is durable; rejects when its write is given up. */
  async settled(): Promise<void> {
    await this.#kept;
  }

  /** Resolves when no write is under way. */
  async idle(): Promise<void> {
    await this.#writes.catch(() => {});
  }

  #append(ending: Ending): Promise<unknown> {
    const write = this.#writes
      .catch(() => {})
      .then(() => this.#first(ending))
      .catch((error) => this.#retry(ending, error));
    this.#writes = write.catch(() => {});
    return this.#writes;
  }

  async #first(ending: Ending): Promise<void> {
    try {
      await this.#journal.end(this.#key, this.#attempt, ending);
    } catch (cause) {
      this.#log("error", "the journal could not record an end", { ...this.#key, error: cause });
      throw new ToolPortError(
        "JOURNAL_UNAVAILABLE",
        `the end of call ${JSON.stringify(this.#key.callId)} could not be recorded; ask again`,
        { cause, started: "yes" },
      );
    }
  }

  async #retry(ending: Ending, failure: unknown): Promise<void> {
    let error = failure;
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      if (this.#isClosed() || !isTransient(error)) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
      });
      try {
        return await this.#first(ending);
      } catch (thrown) {
        error = thrown;
      }
    }
  }
}

/** Whether it may succeed later: anything but an unavailable journal is a defect, and stays one. */
function isTransient(error: unknown): boolean {
  const cause = error instanceof ToolPortError ? error.cause : error;
  return isToolPortError(cause) && cause.code === "JOURNAL_UNAVAILABLE";
}
