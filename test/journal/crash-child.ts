/**
 * A process that lives off a journal until it is killed: `crash-child.ts PATH PREFIX`. A line tells
 * of each change once it is acknowledged.
 */
import { writeSync } from "node:fs";

import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";

const [path = "", prefix = ""] = process.argv.slice(2);
const journal = await sqliteJournal({ path, graceMs: 5000 });
writeSync(1, "open\n");
await Promise.all(
  Array.from({ length: 16 }, async (_, lane) => {
    for (let index = 0; ; index++) {
      const key = keyOf(`${prefix}-${lane}-${index}`, `${prefix}-${index % 5}`);
      await journal.lookup(key);
      await journal.claim(claimOf(key));
      writeSync(1, `claimed ${key.runId} ${key.callId}\n`);
      // Some are left running, and some are large.
      if (index % 7 === 3) continue;
      const text = key.callId.repeat(index % 11 === 5 ? 2000 : 1);
      await journal.end(key, 1, { kind: "outcome", outcome: success(text) });
      writeSync(1, `ended ${key.runId} ${key.callId}\n`);
    }
  }),
);
