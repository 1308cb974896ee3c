import type { Journal } from "../../src/journal/journal.ts";

/** A journal with some of its operations replaced. */
export function wrapped(inner: Journal, replaced: Partial<Journal>): Journal {
  return {
    isDurable: inner.isDurable,
    lookup: (key) => inner.lookup(key),
    claim: (claim) => inner.claim(claim),
    end: (key, attempt, ending) => inner.end(key, attempt, ending),
    started: (run, tool) => inner.started(run, tool),
    touch: (run) => inner.touch(run),
    list: (filter) => inner.list(filter),
    prune: () => inner.prune(),
    close: () => inner.close(),
    ...replaced,
  };
}
