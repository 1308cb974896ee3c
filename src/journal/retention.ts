/** How long records are kept, all in milliseconds of the journal's own clock. */
export interface Retention {
  /** After a run's last use until its records go; 24 hours by default. */
  readonly retentionMs?: number;
  /** After that until the run's id is forgotten, so that it starts anew; 30 days by default. */
  readonly tombstoneMs?: number;
}

/** The retention where none is given: 24 hours. */
export const defaultRetentionMs: number = 24 * 60 * 60 * 1000;

/** How long tombstones stay where nothing else is said: 30 days. */
export const defaultTombstoneMs: number = 30 * 24 * 60 * 60 * 1000;

/**
 * How old a run's stamp may grow before a use writes a new one. Pruning waits that much longer, so
 * a busy run costs no write a call and is still kept for the whole retention.
 */
export function stampSlackMs(retentionMs: number): number {
  return Math.floor(retentionMs / 1000);
}

/** How often to prune and to write the clock down, in milliseconds: between a second and a minute. */
export function housekeepingMs(retentionMs: number): number {
  return Math.min(60_000, Math.max(1000, Math.floor(retentionMs / 1000)));
}

/**
 * The time that retention counts by: what monotonic readings add up to, over all the lives of the
 * journal. The wall clock has no part in it, so setting that expires nothing; nor has the time in
 * which no process holds the journal.
 */
export class JournalClock {
  readonly #base: number;
  readonly #origin: number;
  #latest: number;

  /**
   * @param base what the clock stood at when it was last written down, in milliseconds
   * @param reading the monotonic clock now, in milliseconds from any origin
   */
  constructor(base: number, reading: number) {
    this.#base = base;
    this.#origin = reading;
    this.#latest = base;
  }

  /** Takes a reading in; one that goes back counts for nothing. */
  advance(reading: number): number {
    const elapsed = Math.floor(reading - this.#origin);
    if (elapsed > 0) this.#latest = Math.max(this.#latest, this.#base + elapsed);
    return this.#latest;
  }

  /** Milliseconds that the journal has lived. */
  get now(): number {
    return this.#latest;
  }
}
