/** How many freed places are kept for the next entries. */
const maxSpare = 1024;

/**
 * A Map for entries that come and go at a high rate, in the order in which they came. Its values
 * lie in an array, and the tables of the Map hold only where.
 *
 * V8 replaces a busy Map's table every few changes; the old one keeps what it last held, and its
 * successor. Once such a table has reached the old generation, all that ever passed through the Map
 * after it survives every small collection until the next full one. Here that is a number each.
 */
export class SlotMap<K, V extends object> {
  readonly #places = new Map<K, number>();
  readonly #values: (V | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  get(key: K): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  has(key: K): boolean {
    return this.#places.has(key);
  }

  set(key: K, value: V): this {
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#free.pop() ?? this.#values.length;
      this.#places.set(key, place);
    }
    this.#values[place] = value;
    return this;
  }

  delete(key: K): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#values[place] = undefined;
    if (this.#places.size > 0 || this.#values.length <= maxSpare) this.#free.push(place);
    else {
      this.#values.length = 0;
      this.#free.length = 0;
    }
    return true;
  }

  clear(): void {
    this.#places.clear();
    this.#values.length = 0;
    this.#free.length = 0;
  }

  forEach(see: (value: V, key: K) => void): void {
    for (const [key, value] of this) see(value, key);
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this) yield value;
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    for (const [key, place] of this.#places) {
      const value = this.#values[place];
      if (value !== undefined) yield [key, value];
    }
  }
}
