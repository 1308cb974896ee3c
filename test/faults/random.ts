import { randomInt } from "node:crypto";

/** Choices that follow from a seed. */
export class Random {
  readonly seed: number;
  #state: number;

  /** @param seed from 1 to 2^31; left out: one is drawn */
  constructor(seed?: number) {
    this.seed = seed ?? randomInt(1, 2 ** 31);
    this.#state = this.seed;
  }

  /** A number from 0 to less than 1. */
  next(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }

  /** A whole number of a range, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True as often as the share says. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.next() * values.length)];
    if (value === undefined) throw new TypeError("there is nothing to pick from");
    return value;
  }
}
