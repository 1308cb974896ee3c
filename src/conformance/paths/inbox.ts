import type { Message } from "@bufbuild/protobuf";

/** Messages that have come and wait to be taken, in order. */
export class Inbox {
  readonly #messages: Message[] = [];
  readonly #takers: ((message: Message | undefined) => void)[] = [];
  #isOver = false;

  put(message: Message): void {
    const taker = this.#takers.shift();
    if (taker) taker(message);
    else this.#messages.push(message);
  }

  /** No more come. */
  end(): void {
    this.#isOver = true;
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  /** The next one, or undefined once there is none. */
  take(): Promise<Message | undefined> {
    const message = this.#messages.shift();
    if (message || this.#isOver) return Promise.resolve(message);
    return new Promise((resolve) => this.#takers.push(resolve));
  }
}
