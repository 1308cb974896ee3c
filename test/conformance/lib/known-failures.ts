import { readFileSync } from "node:fs";
import test, { type ExecutionContext } from "ava";
import { allCaseIds, type Case } from "./cases.ts";

/** A case that is known to fail, and why. */
interface KnownFailure {
  readonly id: string;
  readonly why: string;
  /** Fails in these runners only: `typescript`, `python`, `go`. */
  readonly only?: readonly string[];
}

const runner = "typescript";

const entries = JSON.parse(
  readFileSync(new URL("../known-failures.json", import.meta.url), "utf8"),
) as readonly KnownFailure[];

const known = new Map(
  entries.filter(({ only }) => only?.includes(runner) ?? true).map((entry) => [entry.id, entry]),
);

/**
 * Registers one test a case. A known failure must fail: once it passes, its entry has to go.
 *
 * @param check what the case asks for, by the assertions of AVA or by throwing
 */
export function testCases<C extends Case>(
  cases: readonly C[],
  check: (t: ExecutionContext, example: C) => void | Promise<void>,
): void {
  for (const example of cases) {
    const failure = known.get(example.id);
    const title = `${example.id}: ${example.title}`;
    if (failure) test.failing(`${title} (${failure.why})`, (t) => check(t, example));
    else test(title, (t) => check(t, example));
  }
}

/** Registers the tests of the list itself. */
export function testKnownFailures(): void {
  test("each known failure is of a case that exists, once, with a reason", (t) => {
    const ids = new Set(allCaseIds());
    const seen = new Set<string>();
    for (const { id, why } of entries) {
      t.true(ids.has(id), `${id} is no case`);
      t.false(seen.has(id), `${id} stands twice`);
      t.not(why, "");
      seen.add(id);
    }
  });
}
