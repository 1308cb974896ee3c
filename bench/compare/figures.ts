/** What one measurement of a cell came to, or the medians of several. */
export interface Figures {
  readonly callsPerSecond: number;
  /** The median and the 99th percentile of the calls' times, in microseconds. */
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of the server's processes, in microseconds a call. */
  readonly serverCpuUs: number;
  /** How much of one core other processes took meanwhile, of the two that it is measured on. */
  readonly others: number;
}

/** @throws RangeError where there is no value */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError("nothing has no median");
  return (lower + upper) / 2;
}

/** The median of each figure by itself. */
export function medians(rounds: readonly Figures[]): Figures {
  const of = (key: keyof Figures): number => median(rounds.map((round) => round[key]));
  return {
    callsPerSecond: of("callsPerSecond"),
    p50Us: of("p50Us"),
    p99Us: of("p99Us"),
    serverCpuUs: of("serverCpuUs"),
    others: of("others"),
  };
}
