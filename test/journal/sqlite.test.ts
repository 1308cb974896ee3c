import { sqliteJournal } from "../../src/journal/sqlite.ts";
import { journalContract } from "./contract.ts";
import { temporaryPath } from "./files.ts";

journalContract("sqlite", async (t, options) => {
  const journal = await sqliteJournal({ path: temporaryPath(t), ...options });
  t.teardown(async () => journal.close());
  return journal;
});
