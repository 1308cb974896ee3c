const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Called with the name of a signal that asks the process to end. */
export type SignalHandler = (signal: (typeof names)[number]) => void;

/**
 * Hands the signals that ask the process to end to one handler. Without any a signal would end it
 * at once, and leave its private folder behind.
 */
export class Signals {
  #handle: SignalHandler;

  /** @param fallback what happens where no command has taken the signals */
  constructor(fallback: SignalHandler) {
    this.#handle = fallback;
    for (const name of names) process.on(name, () => this.#handle(name));
  }

  /** Hands signals to this handler from now on. */
  take(handler: SignalHandler): void {
    this.#handle = handler;
  }
}
