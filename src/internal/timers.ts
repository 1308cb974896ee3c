/** The longest wait that `setTimeout` takes; a longer one fires at once. */
const longest = 2 ** 31 - 1;

/** A wait that can be given up. */
export interface Timer {
  /** Gives the wait up. Idempotent. */
  stop(): void;
}

/**
 * Calls `run` once after `ms` milliseconds, however long that is; not before they have passed by
 * the monotonic clock.
 */
export function after(ms: number, run: () => void): Timer {
  const due = performance.now() + ms;
  // A wait that has passed already is none; Node warns of a negative one.
  let handle = setTimeout(check, Math.min(Math.max(Math.ceil(ms), 0), longest));
  function check(): void {
    const left = due - performance.now();
    if (left <= 0) run();
    else handle = setTimeout(check, Math.min(Math.ceil(left), longest));
  }
  return {
    stop() {
      clearTimeout(handle);
    },
  };
}
