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
 * Each promise that resolves says that the change is durable; each that rejects, that it may or
 * may not be, with a ToolPortError `JOURNAL_UNAVAILABLE`.
 */
export interface Journal {
  /** What is recorded for a key. Counts as a use of the record. */
  lookup(key: CallKey): Promise<Recorded>;
  /**
   * Claims a key whose look-up said `nothing`, `released` or `lost`, before its tool starts.
   *
   * @returns the attempt, counted from 1; `released` attempts are not counted again
   */
  claim(claim: Claim): Promise<{ readonly attempt: number }>;
  /**
   * Records how an attempt ended.
   *
   * @returns `recorded`, or `noted` where the key has moved on and the outcome is only kept for
   *   people to see
   */
  end(key: CallKey, attempt: number, ending: Ending): Promise<"recorded" | "noted">;
  /** How many calls of this tool have started in the run; replays and joins do not count. */
  started(run: RunKey, toolName: string): Promise<number>;
  /** Says that the run is live, which keeps its records from pruning; call it again while it is. */
  touch(run: RunKey): Promise<void>;
  /** Lists records, newest use first, at most `limit` (default 100). */
  list(filter?: { readonly runId?: string; readonly limit?: number }): Promise<readonly Entry[]>;
  /** Removes what retention has passed; a tombstone of each run stays for 30 days. */
  prune(): Promise<{ readonly records: number; readonly runs: number }>;
  /** Waits for what is under way, then lets go of the store. Idempotent. */
  close(): Promise<void>;
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
  readonly state: "running" | "released" | "lost" | "done";
  readonly outcome: Outcome | undefined;
  /** Late outcomes that were not sent to anybody. */
  readonly notes: readonly { readonly attempt: number; readonly outcome: Outcome }[];
  /** Milliseconds since its last use, by the journal's own clock. */
  readonly idleMs: number;
}
