import { ToolPortError } from "../../src/errors.ts";
import type { Journal } from "../../src/journal/journal.ts";

/** One life of a process, and what its disk does next. */
export interface Life {
  isOver: boolean;
  /** The next operations that fail: whether each does so after it was carried out. */
  troubles: boolean[];
}

/** A journal that stands for the disk of one life: after the crash it neither changes nor answers. */
export function fenced(journal: Journal, life: Life): Journal {
  const guard =
    <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (life.isOver) return new Promise<R>(() => {});
      const trouble = life.troubles.shift();
      if (trouble === false) throw unavailable();
      const result = await act(...args);
      await new Promise((resolve) => setImmediate(resolve));
      if (life.isOver) return new Promise<R>(() => {});
      if (trouble === true) throw unavailable();
      return result;
    };
  return {
    isDurable: journal.isDurable,
    lookup: guard((key) => journal.lookup(key)),
    claim: guard((claim) => journal.claim(claim)),
    end: guard((key, attempt, ending) => journal.end(key, attempt, ending)),
    started: guard((run, tool) => journal.started(run, tool)),
    touch: guard((run) => journal.touch(run)),
    list: guard((filter) => journal.list(filter)),
    prune: guard(() => journal.prune()),
    close: guard(() => journal.close()),
  };
}

function unavailable(): ToolPortError {
  return new ToolPortError("JOURNAL_UNAVAILABLE", "the disk is full");
}
