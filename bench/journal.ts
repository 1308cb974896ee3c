/**
 * What the SQLite journal costs: `node bench/journal.ts [calls]`.
 *
 * Drives look-up, claim and end of one call after another, 64 calls in flight, and prints durable
 * calls a second and the main thread's own processor time a call. Beside it stands SQLite alone with
 * `synchronous=FULL`: two transactions a call, one after the other, in the main thread.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Outcome } from "../src/domain/call.ts";
import { memoryJournal } from "../src/journal/memory.ts";
import type { Journal } from "../src/journal/journal.ts";
import { sqliteJournal } from "../src/journal/sqlite.ts";

interface Measured {
  readonly callsPerSecond: number;
  readonly mainMicrosPerCall: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const calls = Number(process.argv[2] ?? 20_000);
const rounds = 3;
const inFlight = 64;
const callsPerRun = 20;
const text = "It is 21 degrees and sunny in Lisbon, with a light wind from the north-west. ".repeat(
  3,
);

const directory = mkdtempSync(join(tmpdir(), "journal-bench-"));
try {
  const results = new Map<string, Measured[]>();
  for (let round = 0; round < rounds; round++) {
    // Interleaved, so that a disk that grows slower or faster does so for all.
    add(results, "SQLite alone", sqliteAlone(join(directory, `alone-${round}.db`)));
    add(results, "journal", await sqlite(join(directory, `journal-${round}.db`), inFlight));
    add(results, "journal, 1 in flight", await sqlite(join(directory, `one-${round}.db`), 1));
    add(results, "in memory", await measure(memoryJournal(), inFlight, calls));
  }
  print(results);
} finally {
  rmSync(directory, { recursive: true });
}

async function sqlite(path: string, width: number): Promise<Measured> {
  const journal = await sqliteJournal({ path });
  await measure(journal, width, 500, "warm");
  return measure(journal, width, width === 1 ? Math.ceil(calls / 10) : calls);
}

async function measure(
  journal: Journal,
  width: number,
  count: number,
  prefix = "run",
): Promise<Measured> {
  const durations: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++;
      const key = {
        principal: "kernel",
        runId: `${prefix}-${Math.floor(at / callsPerRun)}`,
        callId: `call-${at}`,
      };
      const start = performance.now();
      await journal.lookup(key);
      const { attempt } = await journal.claim({
        ...key,
        toolName: "weather",
        callDigest: `sha256:${"0123456789abcdef".repeat(4)}`,
        manifestDigest: `sha256:${"fedcba9876543210".repeat(4)}`,
        idempotent: false,
      });
      await journal.end(key, attempt, { kind: "outcome", outcome: outcome(attempt) });
      durations.push(performance.now() - start);
    }
  };
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: width }, worker));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.threadCpuUsage(cpu);
  if (prefix === "run") await journal.close();
  durations.sort((a, b) => a - b);
  return {
    callsPerSecond: count / seconds,
    mainMicrosPerCall: (user + system) / count,
    p50Ms: durations[Math.floor(count * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(count * 0.99)] ?? 0,
  };
}

function sqliteAlone(path: string): Measured {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec(
    "CREATE TABLE calls (run TEXT, call TEXT, state INTEGER, outcome TEXT, UNIQUE (run, call))",
  );
  const claim = db.prepare("INSERT INTO calls VALUES (?, ?, 0, NULL)");
  const end = db.prepare("UPDATE calls SET state = 1, outcome = ? WHERE run = ? AND call = ?");
  const durations: number[] = [];
  const count = Math.ceil(calls / 10);
  const stored = JSON.stringify(outcome(1));
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  for (let at = 0; at < count; at++) {
    const begun = performance.now();
    const run = `run-${Math.floor(at / callsPerRun)}`;
    claim.run(run, `call-${at}`);
    end.run(stored, run, `call-${at}`);
    durations.push(performance.now() - begun);
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.threadCpuUsage(cpu);
  db.close();
  durations.sort((a, b) => a - b);
  return {
    callsPerSecond: count / seconds,
    mainMicrosPerCall: (user + system) / count,
    p50Ms: durations[Math.floor(count * 0.5)] ?? 0,
    p99Ms: durations[Math.floor(count * 0.99)] ?? 0,
  };
}

function outcome(attempt: number): Outcome {
  return {
    ok: true,
    result: text,
    structuredJson: undefined,
    content: [],
    durationMs: 12.5,
    attempt,
    replayed: false,
  };
}

function add(results: Map<string, Measured[]>, name: string, measured: Measured): void {
  results.set(name, [...(results.get(name) ?? []), measured]);
}

function print(results: ReadonlyMap<string, readonly Measured[]>): void {
  const alone = median((results.get("SQLite alone") ?? []).map((one) => one.callsPerSecond));
  console.log(`medians of ${rounds} rounds of ${calls} calls, ${inFlight} in flight`);
  console.table(
    Object.fromEntries(
      [...results].map(([name, all]) => {
        const perSecond = median(all.map((one) => one.callsPerSecond));
        return [
          name,
          {
            "calls/s": Math.round(perSecond),
            "x SQLite alone": Number((perSecond / alone).toFixed(2)),
            "main thread µs/call": Number(
              median(all.map((one) => one.mainMicrosPerCall)).toFixed(1),
            ),
            "p50 ms": Number(median(all.map((one) => one.p50Ms)).toFixed(2)),
            "p99 ms": Number(median(all.map((one) => one.p99Ms)).toFixed(2)),
          },
        ];
      }),
    ),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
