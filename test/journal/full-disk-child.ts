/**
 * Fills a small disk until the journal on it cannot write, frees it, and goes on:
 * `full-disk-child.ts DIRECTORY`. The last line of its output is what it found, as JSON.
 */
import { rmSync, writeFileSync } from "node:fs";

import { isToolPortError } from "../../src/errors.ts";
import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { claimOf, keyOf, success } from "./calls.ts";

const [directory = ""] = process.argv.slice(2);
const lines: string[] = [];
writeFileSync(`${directory}/ballast`, Buffer.alloc(1024 * 1024));
const journal = await sqliteJournal({
  path: `${directory}/journal.db`,
  log: (_, message) => lines.push(message),
});
const acknowledged: string[] = [];
let failure: unknown;
for (let index = 0; failure === undefined && index < 2000; index++) {
  const key = keyOf(`c${index}`);
  try {
    await journal.claim(claimOf(key));
    const outcome = success(`${index} ${"x".repeat(5000)}`);
    await journal.end(key, 1, { kind: "outcome", outcome });
    acknowledged.push(key.callId);
  } catch (error) {
    failure = error;
  }
}
const readWhileFull = (await journal.lookup(keyOf("c0"))).state;
rmSync(`${directory}/ballast`);
await journal.claim(claimOf(keyOf("after")));
await journal.end(keyOf("after"), 1, { kind: "outcome", outcome: success("x") });
await journal.close();

const next = await sqliteJournal({ path: `${directory}/journal.db` });
let lost = 0;
for (const callId of [...acknowledged, "after"]) {
  if ((await next.lookup(keyOf(callId))).state !== "done") lost++;
}
await next.close();
console.log(
  JSON.stringify({
    acknowledged: acknowledged.length,
    code: isToolPortError(failure) ? failure.code : String(failure),
    readWhileFull,
    lost,
    lines,
  }),
);
