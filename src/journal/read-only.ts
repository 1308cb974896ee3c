import type { Entry, Journal } from "./journal.ts";
import { toEntry } from "./sqlite-answers.ts";
import { SqliteList } from "./sqlite-list.ts";
import { openToRead, resolveJournalPath } from "./sqlite-open.ts";
import { integer } from "./sqlite-rows.ts";

/** A journal's records for people to see, while whoever owns it goes on. */
export interface JournalReader {
  /**
   * Lists records as {@link Journal.list} does. Idle times are as of when the owner last wrote its
   * clock down, at most a minute before.
   */
  list: Journal["list"];
  /** Lets go of the file. */
  close(): void;
}

/**
 * Opens a SQLite journal to read it. Its owner, if there is one, is not disturbed; a record that
 * runs under no owner is shown as running until the next owner finds it lost.
 *
 * @throws ConfigurationError where there is no journal at that path, or none of this version
 */
export function openJournalReadOnly(path: string): JournalReader {
  const db = openToRead(resolveJournalPath(path));
  const lister = new SqliteList(db);
  const clock = db.prepare("SELECT epoch, clock FROM journal");
  return {
    async list(filter = {}): Promise<readonly Entry[]> {
      const row = clock.get() ?? {};
      const now = integer(row["clock"]);
      const epoch = integer(row["epoch"]);
      return lister
        .list(filter, {
          now,
          stateOf: (call) =>
            call.state === "running" && call.epoch !== epoch ? "lost" : call.state,
        })
        .map(toEntry);
    },
    close(): void {
      db.close();
    },
  };
}
