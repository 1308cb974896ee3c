import type { Outcome } from "../domain/call.ts";

/**
 * The durable record of claims and outcomes.
 *
 * A record moves only along these arrows; anything else is a defect and throws:
 *
 *     (nothing) → running → done
 *                 running → released → running   the tool had not started
 *                 running → lost → done          the real outcome came late, or INDETERMINATE
 *                           lost → running       an idempotent tool runs again
 *
 * A journal opened by a new owner finds every `running` record of an earlier owner as `lost`.
 * Each promise that resolves says that the change is durable; each that rejects with a ToolPortError
 * `JOURNAL_UNAVAILABLE`, that it may or may not be. To ask for the same thing again is always safe:
 * an ending that is recorded already is answered `recorded`.
 *
 * An operation sees all that resolved before it was asked for; of those still under way it may see
 * any. A run id or call id that is empty or not well-formed Unicode is `REQUEST_INVALID`.
 */
export interface Journal {
  /** Whether what it records outlives the process. */
  readonly isDurable: boolean;
  /**
   * What is recorded for a key. Counts as a use of the record. A record that is damaged on the disk
   * rejects with `JOURNAL_UNAVAILABLE`, so its key cannot be claimed.
   */
  lookup(key: CallKey): Promise<Recorded>;
  /**
   * Claims a key whose look-up said `nothing`, `released` or `lost`, before its tool starts.
   *
   * @returns the attempt, counted from 1; `released` attempts are not counted again
   * @throws ToolPortError `RUN_EXPIRED` where the run's records have been pruned, `CALL_ID_REUSED`
   *   where the record is of another call, `JOURNAL_UNAVAILABLE` where it cannot be written or is full
   */
  claim(claim: Claim): Promise<{ readonly attempt: number }>;
  /**
   * Records how an attempt ended.
   *
   * @returns `recorded`, or `noted` where the key has moved on and the outcome is only kept for
   *   people to see
   */
  end(key: CallKey, attempt: number, ending: Ending): Promise<"recorded" | "noted">;
  /**
   * How many calls of this tool have started in the run: each call once, however many attempts it
   * took. Replays and joins do not count, nor do calls that ended before their tool started or
   * whose outcome says so (attempt 0, `INDETERMINATE` excepted).
   */
  started(run: RunKey, toolName: string): Promise<number>;
  /**
   * Says that the run is live, which keeps its records from pruning; call it again while it is. A
   * run without records, or whose records are pruned already, is left as it is.
   */
  touch(run: RunKey): Promise<void>;
  /** Lists records, newest use first, at most `limit` (default 100). */
  list(filter?: ListFilter): Promise<readonly Entry[]>;
  /**
   * Removes what retention has passed, whole runs at a time; a tombstone of each run stays for 30
   * days. A run with a call that is running in this process stays.
   */
  prune(): Promise<Pruned>;
  /** Waits for what is under way, then lets go of the store. Idempotent. */
  close(): Promise<void>;
}

/** Which records to list: those of a run, of a call; at most `limit` of them (default 100). */
export interface ListFilter {
  readonly runId?: string;
  readonly callId?: string;
  readonly limit?: number;
}

/** What pruning removed. */
export interface Pruned {
  readonly records: number;
  readonly runs: number;
}

/** A run belongs to the principal that first used it. */
export interface RunKey {
  readonly principal: string;
  readonly runId: string;
}

/** What a record is kept under. */
export interface CallKey extends RunKey {
  readonly callId: string;
}

/** What is recorded when a key is claimed. */
export interface Claim extends CallKey {
  readonly toolName: string;
  /** `sha256:` and the hexadecimal SHA-256 over name and canonical arguments. */
  readonly callDigest: string;
  /** The digest of the set that the claim was made under. */
  readonly manifestDigest: string;
  /** The tool's own flag at that time. */
  readonly idempotent: boolean;
}

/** What a look-up found. */
export type Recorded =
  | { readonly state: "nothing" }
  | ({ readonly state: "running" | "released" | "lost" } & RecordedClaim)
  /** The outcome is marked `replayed`; all else is as it was recorded. */
  | ({ readonly state: "done"; readonly outcome: Outcome } & RecordedClaim)
  /** The run's records have been pruned. */
  | { readonly state: "expired" };

/** The part of a record that every state has. */
export interface RecordedClaim {
  readonly toolName: string;
  readonly callDigest: string;
  readonly manifestDigest: string;
  readonly idempotent: boolean;
  readonly attempt: number;
}

/** How an attempt ended. */
export type Ending =
  /** Its outcome is known. */
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  /** Ended by cancel or deadline before the tool started: the key may be claimed again. */
  | { readonly kind: "released" }
  /** Ended by cancel or deadline after the tool started: its outcome is not known, so far. */
  | { readonly kind: "lost" };

/** A record as people see it. */
export interface Entry extends CallKey, RecordedClaim {
  /** `damaged`: what is stored does not match its checksum; the other fields are as they are read. */
  readonly state: "running" | "released" | "lost" | "done" | "damaged";
  readonly outcome: Outcome | undefined;
  /** Late outcomes that were not sent to anybody. */
  readonly notes: readonly { readonly attempt: number; readonly outcome: Outcome }[];
  /** Milliseconds since its last use, by the journal's own clock. */
  readonly idleMs: number;
}
