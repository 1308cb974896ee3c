/**
 * The tags used on a stream. Tags counted up from 1 take no memory however many there are; those
 * out of order are kept one by one until the gap below them closes.
 */
export class TagSet {
  #allUpTo = 0n;
  readonly #above = new Set<bigint>();

  /** @returns false where the tag is zero or was used before */
  add(tag: bigint): boolean {
    if (tag <= this.#allUpTo || this.#above.has(tag)) return false;
    if (tag !== this.#allUpTo + 1n) {
      this.#above.add(tag);
      return true;
    }
    this.#allUpTo = tag;
    while (this.#above.size > 0 && this.#above.delete(this.#allUpTo + 1n)) this.#allUpTo += 1n;
    return true;
  }
}
