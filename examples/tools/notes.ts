import { z } from "zod";

interface Note {
  readonly id: number;
  readonly text: string;
}

/** The notes of each run; those of calls without a run are kept together. */
const notesByRun = new Map<string, Note[]>();

function notesOf(runId: string): Note[] {
  const known = notesByRun.get(runId);
  if (known) return known;
  const fresh: Note[] = [];
  notesByRun.set(runId, fresh);
  // A long-lived sidecar sees many runs: forget the oldest.
  const oldest = notesByRun.keys().next().value;
  if (notesByRun.size > 1000 && oldest !== undefined) notesByRun.delete(oldest);
  return fresh;
}

/** A capability: a named package of tools that somebody else could have written. */
export const notes = {
  name: "notes",
  tools: [
    {
      name: "add_note",
      description: "Writes a note down for later in this run.",
      parameters: z.object({ text: z.string().min(1).max(2000) }),
      execute({ text }: { text: string }, ctx: { runId: string }): Note {
        const list = notesOf(ctx.runId);
        const note = { id: (list.at(-1)?.id ?? 0) + 1, text };
        list.push(note);
        return note;
      },
    },
    {
      name: "list_notes",
      description: "Lists the notes of this run, oldest first.",
      execute(_args: unknown, ctx: { runId: string }): { notes: readonly Note[] } {
        return { notes: notesOf(ctx.runId) };
      },
    },
  ],
};
