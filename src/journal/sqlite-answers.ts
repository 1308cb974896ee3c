import { unavailable } from "./faults.ts";
import type { Entry, Recorded } from "./journal.ts";
import { decodeOutcome } from "./outcome-text.ts";
import type { EntryText, RecordedText } from "./sqlite-protocol.ts";

/** What a look-up found, as the interface has it. */
export function toRecorded(recorded: RecordedText): Recorded {
  if (!("outcome" in recorded)) return { state: recorded.state };
  const { state, outcome, ...claim } = recorded;
  if (state !== "done") return { state, ...claim };
  if (outcome === null) throw unavailable("holds a record that is done and has no outcome");
  return { state, outcome: decodeOutcome(outcome, true), ...claim };
}

/** An entry as the interface has it. */
export function toEntry(entry: EntryText): Entry {
  return {
    ...entry,
    outcome: entry.outcome === null ? undefined : decodeOutcome(entry.outcome, false),
    notes: entry.notes.map((note) => ({
      attempt: note.attempt,
      outcome: decodeOutcome(note.outcome, false),
    })),
  };
}
