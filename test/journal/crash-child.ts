/**
 * A process that lives off a journal until it is killed: `crash-child.ts PATH PREFIX LINES`. A
 * line in the file LINES tells of each change once it is acknowledged.
 */
import { openSync, writeSync } from "node:fs";

import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";

const [path = "", prefix = "", linesPath = ""] = process.argv.slice(2);
const lines = openSync(linesPath, "a");
const journal = await sqliteJournal({ path, graceMs: 5000 });
writeSync(lines, "open\n");
await Promise.all(
  Array.from({ length: 16 }, async (_, lane) => {
    for (let index = 0; ; index++) {
      const key = keyOf(`${prefix}-${lane}-${index}`, `${prefix}-${index % 5}`);
      await journal.lookup(key);
      await journal.claim(claimOf(key));
      writeSync(lines, `claimed ${key.runId} ${key.callId}\n`);
      // Some are left running, and some are large.
      if (index % 7 === 3) continue;
      const text = key.callId.repeat(index % 11 === 5 ? 2000 : 1);
      await journal.end(key, 1, { kind: "outcome", outcome: success(text) });
      writeSync(lines, `ended ${key.runId} ${key.callId}\n`);
    }
  }),
);
