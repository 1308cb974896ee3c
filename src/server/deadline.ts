import { ToolPortError } from "../errors.ts";
import { after, type Timer } from "../internal/timers.ts";

/** The caller's deadline of one RPC. */
export class Deadline {
  readonly #due: number;
  readonly #timer: Timer | undefined;
  readonly #passed: Promise<never>;

  /** @param ms in milliseconds from now; 0 has passed already */
  constructor(ms: number) {
    this.#due = performance.now() + ms;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    this.#passed = promise;
    if (ms > 0) this.#timer = after(ms, () => reject(deadlineFault()));
    else reject(deadlineFault());
  }

  /** How much is left in milliseconds; 0 where it has passed. */
  get leftMs(): number {
    return Math.max(0, this.#due - performance.now());
  }

  /** Waits for `work`, but not beyond the deadline, which rejects with DEADLINE_EXCEEDED. */
  race<T>(work: Promise<T>): Promise<T> {
    // Whoever loses has nobody left to hear it.
    work.catch(() => {});
    return Promise.race([work, this.#passed]);
  }

  /** Lets go of the timer. Idempotent. */
  stop(): void {
    this.#timer?.stop();
  }
}

/** The fault of a deadline that passed before anything ran. */
export function deadlineFault(): ToolPortError {
  return new ToolPortError("DEADLINE_EXCEEDED", "the deadline passed before the answer was there");
}

const grpcUnits: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * Reads the deadline that a request's headers give, in milliseconds.
 *
 * @returns undefined where they give none
 * @throws ToolPortError REQUEST_INVALID naming a header that can't be read
 */
export function readTimeout(
  grpcTimeout: string | undefined,
  connectTimeoutMs: string | undefined,
): number | undefined {
  if (grpcTimeout !== undefined) {
    const match = /^(\d{1,8})([HMSmun])$/u.exec(grpcTimeout);
    if (!match)
      throw unreadable("grpc-timeout", grpcTimeout, "up to 8 digits and a unit of HMSmun");
    return Number(match[1]) * (grpcUnits[match[2] ?? ""] ?? 0);
  }
  if (connectTimeoutMs === undefined) return undefined;
  if (!/^\d{1,10}$/u.test(connectTimeoutMs)) {
    throw unreadable("connect-timeout-ms", connectTimeoutMs, "up to 10 digits");
  }
  return Number(connectTimeoutMs);
}

function unreadable(header: string, value: string, wanted: string): ToolPortError {
  return new ToolPortError(
    "REQUEST_INVALID",
    `the header ${header} is ${JSON.stringify(value)}, must be ${wanted}`,
  );
}
