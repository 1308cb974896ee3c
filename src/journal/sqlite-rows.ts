import type { SQLOutputValue } from "node:sqlite";
import { crc32 } from "node:zlib";

import type { OutcomeText } from "./outcome-text.ts";
import type { RecordState } from "./rules.ts";

/** Says in a file's header that it is a journal of this package. */
export const applicationId: number = 0x746f_6f6c;

/** The version of the tables; another one is refused. */
export const schemaVersion: number = 1;

/** The tables. A `sum` is the checksum over the rest of its row, and what it leaves out is told. */
export const schema: string = `
  CREATE TABLE journal (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,   -- counts the owners
    clock INTEGER NOT NULL,   -- the journal's own clock in ms when last written down
    sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    run_id TEXT NOT NULL,
    used INTEGER NOT NULL,    -- last use, give or take the slack, by the journal's clock
    expired INTEGER,          -- when its records were pruned; null while they are kept
    unswept INTEGER NOT NULL, -- 1 while records of an expired run are still to be deleted; not in sum
    sum INTEGER NOT NULL,
    UNIQUE (run_id, principal)
  ) STRICT;
  CREATE INDEX runs_by_use ON runs (used) WHERE expired IS NULL;
  CREATE INDEX runs_by_expiry ON runs (expired) WHERE expired IS NOT NULL;
  CREATE INDEX runs_unswept ON runs (id) WHERE unswept = 1;
  CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    state INTEGER NOT NULL,   -- 0 running, 1 released, 2 lost, 3 done
    epoch INTEGER NOT NULL,   -- whose claim it is
    attempt INTEGER NOT NULL,
    counted INTEGER NOT NULL, -- 1 where its tool has started
    tool TEXT NOT NULL,
    call_digest TEXT NOT NULL,
    manifest_digest TEXT NOT NULL,
    idempotent INTEGER NOT NULL,
    used INTEGER NOT NULL,    -- not in sum
    sum INTEGER NOT NULL,
    outcome TEXT,
    parts BLOB,
    UNIQUE (run, call_id)
  ) STRICT;
  CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    call INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    parts BLOB,
    sum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX notes_by_call ON notes (call);
`;

/** A row of `runs`. */
export interface RunRow {
  readonly id: number;
  readonly principal: string;
  readonly runId: string;
  readonly used: number;
  readonly expired: number | null;
}

/** A row of `calls`. */
export interface CallRow {
  readonly id: number;
  readonly run: number;
  readonly callId: string;
  readonly state: RecordState;
  readonly epoch: number;
  readonly attempt: number;
  readonly counted: boolean;
  readonly toolName: string;
  readonly callDigest: string;
  readonly manifestDigest: string;
  readonly idempotent: boolean;
  readonly outcome: OutcomeText | null;
  readonly used: number;
}

/** A row of `notes`. */
export interface NoteRow {
  readonly call: number;
  readonly attempt: number;
  readonly outcome: OutcomeText;
}

/** A row as the store gives it. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** The columns of `runs`, named so that they can stand beside those of `calls`. */
export const runColumns: string =
  "r.id AS r_id, r.principal AS r_principal, r.run_id AS r_run_id, r.used AS r_used, " +
  "r.expired AS r_expired, r.sum AS r_sum";

/** The columns of `calls`. */
export const callColumns: string =
  "c.id, c.run, c.call_id, c.state, c.epoch, c.attempt, c.counted, c.tool, c.call_digest, " +
  "c.manifest_digest, c.idempotent, c.outcome, c.parts, c.used, c.sum";

const states: readonly RecordState[] = ["running", "released", "lost", "done"];

/** The number that a state is stored as. */
export function stateNumber(state: RecordState): number {
  return states.indexOf(state);
}

/** Reads the columns of {@link runColumns}; `intact` is false where they miss their checksum. */
export function readRun(row: Row): { readonly run: RunRow; readonly intact: boolean } {
  const run = {
    id: integer(row["r_id"]),
    principal: string(row["r_principal"]),
    runId: string(row["r_run_id"]),
    used: integer(row["r_used"]),
    expired: typeof row["r_expired"] === "number" ? row["r_expired"] : null,
  };
  return { run, intact: sumOfRun(run) === row["r_sum"] };
}

/** Reads the columns of {@link callColumns}; `intact` is false where they miss their checksum. */
export function readCall(row: Row): { readonly call: CallRow; readonly intact: boolean } {
  const state = states[integer(row["state"])];
  const call: CallRow = {
    id: integer(row["id"]),
    run: integer(row["run"]),
    callId: string(row["call_id"]),
    state: state ?? "lost",
    epoch: integer(row["epoch"]),
    attempt: integer(row["attempt"]),
    counted: row["counted"] === 1,
    toolName: string(row["tool"]),
    callDigest: string(row["call_digest"]),
    manifestDigest: string(row["manifest_digest"]),
    idempotent: row["idempotent"] === 1,
    outcome: typeof row["outcome"] === "string" ? readOutcome(row) : null,
    used: integer(row["used"]),
  };
  return { call, intact: state !== undefined && sumOfCall(call) === row["sum"] };
}

/** Reads a row of `notes`; `intact` is false where it misses its checksum. */
export function readNote(row: Row): { readonly note: NoteRow; readonly intact: boolean } {
  const note = {
    call: integer(row["call"]),
    attempt: integer(row["attempt"]),
    outcome: readOutcome(row),
  };
  return { note, intact: sumOfNote(note) === row["sum"] };
}

/** The checksum of the one row of `journal`. */
export function sumOfJournal(epoch: number, clock: number): number {
  return crc32(`${epoch} ${clock}`);
}

/** The checksum of a row of `runs`. */
export function sumOfRun({ id, principal, runId, used, expired }: RunRow): number {
  return crc32(`${id} ${used} ${expired} ${principal} ${runId}`);
}

/** The checksum of a row of `calls`. Its own id is left out: it is not known before the insert. */
export function sumOfCall(call: Omit<CallRow, "id" | "used">): number {
  const { run, callId, state, epoch, attempt, counted, idempotent } = call;
  const { toolName, callDigest, manifestDigest, outcome } = call;
  const head =
    `${run} ${state} ${epoch} ${attempt} ${counted} ${idempotent} ` +
    `${callDigest} ${manifestDigest} ${toolName} ${callId}`;
  return outcome === null ? crc32(head) : sumOfOutcome(outcome, crc32(head));
}

/** The checksum of a row of `notes`. */
export function sumOfNote({ call, attempt, outcome }: NoteRow): number {
  return sumOfOutcome(outcome, crc32(`${call} ${attempt}`));
}

/** A stored whole number; 0 where it is none, which then misses the checksum. */
export function integer(value: SQLOutputValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

function string(value: SQLOutputValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function readOutcome(row: Row): OutcomeText {
  const parts = row["parts"];
  return { text: string(row["outcome"]), parts: parts instanceof Uint8Array ? parts : null };
}

function sumOfOutcome({ text, parts }: OutcomeText, sum: number): number {
  const ofText = crc32(text, sum);
  return parts === null ? ofText : crc32(parts, ofText);
}
