import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

const root = join(import.meta.dirname, "../..");

interface FieldCase {
  readonly id: string;
  readonly title: string;
}

interface Elsewhere {
  readonly file: string;
  /** The name of a test in that file. */
  readonly test: string;
}

/** Cases that speak of a client in another language, by the test of that client that shows them. */
const elsewhere: Readonly<Record<string, Elsewhere>> = {
  B31: { file: "clients/go/call_test.go", test: "TestExecuteKeepsEveryDigitThereAndBack" },
  B32: {
    file: "clients/python/tests/test_json_text.py",
    test: "test_integers_and_floats_stay_what_they_are",
  },
  B81: {
    file: "clients/python/tests/test_channel.py",
    test: "test_the_token_goes_with_every_request",
  },
  B91: {
    file: "clients/python/tests/test_real_sidecar.py",
    test: "test_leaving_an_async_loop_aborts_the_tool",
  },
  B92: {
    file: "clients/python/tests/test_fork.py",
    test: "test_a_child_goes_on_with_its_parents_client",
  },
};

/** Cases of what can't be put into a set yet, by what they wait for. */
const pending: Readonly<Record<string, readonly string[]>> = {};

const cases = readFileSync(join(root, "test/conformance/cases/field.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as FieldCase);

const cited = new Set(
  readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .flatMap((path) => titleIds(readFileSync(join(root, "test", path), "utf8"))),
);

/** The ids that titles of tests start with. */
function titleIds(text: string): readonly string[] {
  return Array.from(text.matchAll(/["'`](B\d{2})(?::| )/gu), ([, id]) => id ?? "");
}

const excepted = [...Object.keys(elsewhere), ...Object.values(pending).flat()];

test("every field case is a test, or is excepted with a reason", (t) => {
  const missing = cases.filter(({ id }) => !cited.has(id) && !excepted.includes(id));
  t.deepEqual(
    missing.map(({ id, title }) => `${id} ${title}`),
    [],
  );
});

test("no exception is stale: a case that has a test needs none", (t) => {
  const ids = new Set(cases.map(({ id }) => id));
  t.deepEqual(
    excepted.filter((id) => cited.has(id) || !ids.has(id)),
    [],
  );
  for (const [id, { file, test: name }] of Object.entries(elsewhere)) {
    t.regex(readFileSync(join(root, file), "utf8"), new RegExp(`\\b${name}\\(`, "u"), id);
  }
});

test("no test cites a case that there is not", (t) => {
  const ids = new Set(cases.map(({ id }) => id));
  t.deepEqual(
    [...cited].filter((id) => !ids.has(id)),
    [],
  );
});
