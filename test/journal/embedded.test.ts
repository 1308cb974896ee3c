import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import test from "ava";
import type { Journal } from "toolport";
import {
  createToolPort,
  defineTool,
  defineTools,
  memoryJournal,
  serve,
  sqliteJournal,
} from "toolport";
import { connect } from "toolport/client";

interface Place {
  /** `unix:/path`, free. */
  readonly address: string;
  /** The path of a journal's file, whether or not there is one. */
  readonly path: string;
}

const journals: Readonly<Record<string, (place: Place) => Journal | Promise<Journal>>> = {
  memoryJournal: () => memoryJournal({ maxBytes: 1_000_000, whenFull: "forget" }),
  sqliteJournal: ({ path }) => sqliteJournal({ path, retentionMs: 60_000 }),
};

let starts = 0;
const definition = defineTools({
  tools: [
    defineTool({ name: "count", description: "Counts its starts.", execute: () => (starts += 1) }),
  ],
});

/** Serves as an embedder does, and asks for one call of a run so many times. */
async function ask(place: Place, journal: Journal, times: number): Promise<readonly unknown[]> {
  const server = await serve(createToolPort(definition, { journal }), { address: place.address });
  const client = connect({ address: server.address });
  const results: unknown[] = [];
  for (let time = 0; time < times; time += 1) {
    const { result } = await client.execute({ name: "count", callId: "c", runId: "r" }).result;
    results.push(result);
  }
  client.close();
  await server.close(0);
  await journal.close();
  return results;
}

const inPlace = async (use: (place: Place) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "toolport-embedded-"));
  try {
    await use({ address: `unix:${join(folder, "port.sock")}`, path: join(folder, "calls.db") });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

for (const [name, open] of Object.entries(journals)) {
  test.serial(`whoever embeds a port gives it a ${name}, and no call of a run starts twice`, (t) =>
    inPlace(async (place) => {
      starts = 0;
      t.deepEqual(await ask(place, await open(place), 2), ["1", "1"]);
      t.is(starts, 1);
    }),
  );
}

test.serial("what a sqliteJournal holds is answered by the next port that is given it", (t) =>
  inPlace(async (place) => {
    starts = 0;
    t.deepEqual(await ask(place, await sqliteJournal({ path: place.path }), 1), ["1"]);
    t.deepEqual(await ask(place, await sqliteJournal({ path: place.path }), 1), ["1"]);
    t.is(starts, 1);
  }),
);
