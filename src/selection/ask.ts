import type { Timer } from "../internal/timers.ts";
import { after } from "../internal/timers.ts";

/** How long to wait for an answer, and on whose behalf. */
export interface Patience {
  readonly timeoutMs: number;
  /** Whoever wants the answer; undefined: always. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Asks code of the adopter's and waits for its answer within bounds. Code that blocks the thread
 * can't be bounded here.
 *
 * @param question is given a signal that fires when the wait is given up
 * @returns whatever it answered
 * @throws what it threw or rejected with, or an Error once time is up or nobody waits any more
 */
export async function ask(
  question: (signal: AbortSignal) => unknown,
  { timeoutMs, signal }: Patience,
): Promise<unknown> {
  if (signal?.aborted === true) throw new Error("the request was aborted");
  const controller = new AbortController();
  let timer: Timer | undefined;
  let stopListening: (() => void) | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const giveUp = (why: string): void => {
        const reason = new Error(why);
        reject(reason);
        controller.abort(reason);
      };
      const onAbort = (): void => giveUp("the request was aborted");
      signal?.addEventListener("abort", onAbort, { once: true });
      stopListening = () => signal?.removeEventListener("abort", onAbort);
      timer = after(timeoutMs, () => giveUp(`no answer within ${timeoutMs} ms`));
      // Not resolve(answer): that would tie the wait to an answer that may never settle.
      Promise.resolve(question(controller.signal)).then(resolve, reject);
    });
  } finally {
    timer?.stop();
    stopListening?.();
  }
}
