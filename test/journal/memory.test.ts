import { memoryJournal } from "../../src/journal/memory.ts";
import { journalContract } from "./contract.ts";

journalContract("memory", async (t, options) => {
  const journal = memoryJournal(options);
  t.teardown(async () => journal.close());
  return journal;
});
