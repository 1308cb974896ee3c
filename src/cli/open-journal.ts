import type { ServeConfig } from "../config/serve-config.ts";
import type { Log } from "../internal/log.ts";
import type { Journal } from "../journal/journal.ts";
import { memoryJournal } from "../journal/memory.ts";
import { sqliteJournal } from "../journal/sqlite.ts";

const memoryMaxBytes = 256 * 2 ** 20;

/**
 * Opens the journal that `serve` is told to keep; undefined where it keeps none. One that another
 * process owns is waited for as long as that process may drain.
 *
 * @throws ConfigurationError where it can't be opened, naming the process that holds it if one does
 */
export async function openJournal(
  { journal, limits }: ServeConfig,
  log: Log,
): Promise<Journal | undefined> {
  const { journalRetentionMs: retentionMs, journalMaxBytes, drainGraceMs } = limits;
  switch (journal.kind) {
    case "none":
      return undefined;
    case "memory":
      return memoryJournal({
        retentionMs,
        maxBytes: journalMaxBytes || memoryMaxBytes,
        whenFull: "forget",
      });
    case "file": {
      const { path } = journal;
      log("info", "opening_journal", { path });
      return await sqliteJournal({
        path,
        retentionMs,
        ...(journalMaxBytes === 0 ? {} : { maxBytes: journalMaxBytes }),
        graceMs: drainGraceMs,
        log: (level, message) => log(level, "journal", { message }),
      });
    }
  }
}
