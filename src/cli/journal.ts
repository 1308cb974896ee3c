import type { ContentPart, Outcome } from "../domain/call.ts";
import type { Entry } from "../journal/journal.ts";
import { openJournalReadOnly } from "../journal/read-only.ts";
import { sqliteJournal } from "../journal/sqlite.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { exactJson, paint, prettyJson, printable, table } from "./terminal.ts";

/** Which records `toolport journal ls` lists. */
export interface JournalListFlags {
  readonly run?: string;
  readonly call?: string;
  readonly limit?: number;
}

/** Lists the records of a journal, newest use first; its owner, if there is one, goes on. */
export async function runJournalList(
  path: string,
  io: Console,
  { run, call, limit = 100 }: JournalListFlags,
): Promise<number> {
  const entries = await read(path, {
    ...(run === undefined ? {} : { runId: run }),
    ...(call === undefined ? {} : { callId: call }),
    limit,
  });
  if (io.form === "json") {
    io.printJson({ journal: path, entries: entries.map(summaryJson) });
    return exitCodes.ok;
  }
  const rows = entries.map((entry) => [
    entry.runId,
    entry.callId,
    entry.toolName,
    entry.state,
    String(entry.attempt),
    durationText(entry.idleMs),
    outcomeText(entry.outcome),
  ]);
  if (rows.length > 0) {
    const head = ["RUN", "CALL", "TOOL", "STATE", "ATTEMPT", "IDLE", "OUTCOME"];
    io.print(`${table(io.out, head, rows)}\n`);
  }
  const more = rows.length === limit ? ", there may be more: see --limit" : "";
  const count = `${rows.length} ${rows.length === 1 ? "record" : "records"}${more}`;
  io.print(`${paint(io.out, "dim", count)}\n`);
  return exitCodes.ok;
}

/** Shows the record of one call in full; of each principal that has one. */
export async function runJournalShow(
  path: string,
  io: Console,
  runId: string,
  callId: string,
): Promise<number> {
  const entries = await read(path, { runId, callId });
  if (entries.length === 0) {
    io.note(
      `the journal ${path} has no record of call ${JSON.stringify(callId)} in run ${JSON.stringify(runId)}: \`toolport journal ls\` lists what it has`,
    );
    return exitCodes.failed;
  }
  if (io.form === "json") io.printJson({ journal: path, entries: entries.map(detailJson) });
  else io.print(entries.map((entry) => detailText(io, entry)).join("\n"));
  return exitCodes.ok;
}

/** Removes what retention has passed, as a running owner does by itself. */
export async function runJournalPrune(
  path: string,
  io: Console,
  retentionMs: number,
): Promise<number> {
  // Opening it as its owner would create a journal where there is none.
  openJournalReadOnly(path).close();
  const journal = await sqliteJournal({
    path,
    retentionMs,
    log: (_level, message) => io.note(message),
  });
  const { records, runs } = await journal.prune();
  await journal.close();
  if (io.form === "json") io.printJson({ journal: path, records, runs });
  else io.print(`removed ${records} records of ${runs} runs\n`);
  return exitCodes.ok;
}

async function read(
  path: string,
  filter: { runId?: string; callId?: string; limit?: number },
): Promise<readonly Entry[]> {
  const journal = openJournalReadOnly(path);
  try {
    return await journal.list(filter);
  } finally {
    journal.close();
  }
}

function summaryJson(entry: Entry): Record<string, unknown> {
  const { principal, runId, callId, toolName, state, attempt, idempotent, idleMs } = entry;
  const { outcome, notes } = entry;
  return {
    principal,
    runId,
    callId,
    name: toolName,
    state,
    attempt,
    idempotent,
    idleMs,
    ...(outcome === undefined ? {} : { ok: outcome.ok, durationMs: outcome.durationMs }),
    ...(outcome === undefined || outcome.ok ? {} : { errorKind: outcome.errorKind }),
    notes: notes.length,
  };
}

function detailJson(entry: Entry): Record<string, unknown> {
  return {
    ...summaryJson(entry),
    callDigest: entry.callDigest,
    manifestDigest: entry.manifestDigest,
    ...(entry.outcome === undefined ? {} : { outcome: outcomeJson(entry.outcome) }),
    notes: entry.notes.map(({ attempt, outcome }) => ({ attempt, outcome: outcomeJson(outcome) })),
  };
}

function outcomeJson(outcome: Outcome): Record<string, unknown> {
  const { content, durationMs, attempt } = outcome;
  return {
    ok: outcome.ok,
    ...(outcome.ok
      ? {
          result: outcome.result,
          ...(outcome.structuredJson === undefined
            ? {}
            : { structured: exactJson(outcome.structuredJson) }),
        }
      : { error: outcome.error, errorKind: outcome.errorKind }),
    ...(content.length === 0 ? {} : { content: content.map(contentJson) }),
    durationMs,
    attempt,
  };
}

function contentJson({ mimeType, name, uri, data }: ContentPart): Record<string, unknown> {
  return {
    mimeType,
    ...(name === undefined ? {} : { name }),
    ...(uri === undefined ? {} : { uri }),
    ...(data === undefined ? {} : { base64: Buffer.from(data).toString("base64") }),
  };
}

function detailText(io: Console, entry: Entry): string {
  const rows = [
    ["run", entry.runId],
    ["call", entry.callId],
    ...(entry.principal === "" ? [] : [["principal", entry.principal]]),
    ["tool", `${entry.toolName}${entry.idempotent ? ", idempotent" : ""}`],
    ["state", meanings[entry.state]],
    ["attempt", String(entry.attempt)],
    ["idle", durationText(entry.idleMs)],
    ["call digest", entry.callDigest],
    ["manifest", entry.manifestDigest],
  ];
  const ends = [
    ...(entry.outcome === undefined ? [] : [fullText("outcome", entry.outcome)]),
    ...entry.notes.map((note) =>
      fullText(`late, attempt ${note.attempt}, sent to nobody`, note.outcome),
    ),
  ];
  const head = paint(io.out, "bold", printable(`${entry.runId} ${entry.callId}`));
  return [`${head}\n`, table(io.out, ["FIELD", "VALUE"], rows), ...ends].join("\n");
}

const meanings: Readonly<Record<Entry["state"], string>> = {
  running: "running, or its owner has died since",
  released: "released: it ended before its tool started, and may be asked again",
  lost: "lost: its tool started and its outcome is not known so far",
  done: "done",
  damaged: "damaged: it does not match its checksum; restore the journal from a copy",
};

function fullText(title: string, outcome: Outcome): string {
  const took = `after ${durationText(outcome.durationMs)}`;
  const parts = outcome.content.map(
    ({ mimeType, name, uri, data }) =>
      `(${[mimeType, name, uri, data && `${data.byteLength} bytes`].filter(Boolean).join(", ")})\n`,
  );
  const text = outcome.ok
    ? outcome.structuredJson === undefined
      ? outcome.result
      : prettyJson(outcome.structuredJson)
    : outcome.error;
  const kind = outcome.ok ? "ok" : outcome.errorKind;
  return `${title}: ${kind} ${took}\n${printable(text)}\n${parts.join("")}`;
}

function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return "";
  const text = outcome.ok ? outcome.result : `failed: ${outcome.error}`;
  const line = text.slice(0, 200).replace(/\s+/gu, " ").trim();
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000
    ? `${Math.round(ms / 3_600_000)} h`
    : `${Math.round(ms / 86_400_000)} days`;
}
