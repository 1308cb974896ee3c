import { readdirSync, readFileSync } from "node:fs";
import test from "ava";
import { type ContractCase, contractCases } from "../../../src/conformance/cases.ts";
import { faultsIn } from "./lib/check-data.ts";

const folder = new URL("../../../src/conformance/cases/", import.meta.url);

test("every file of cases is in the suite, and each case under its file's topic", (t) => {
  const onDisk = readdirSync(folder).flatMap((name) => {
    const { topic, cases } = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as {
      readonly topic: string;
      readonly cases: readonly ContractCase[];
    };
    t.is(`${topic}.json`, name);
    for (const { id } of cases) t.true(id.startsWith(`${topic}/`), id);
    return cases.map(({ id }) => id);
  });
  t.deepEqual(onDisk.toSorted(), contractCases.map(({ id }) => id).toSorted());
});

test("there are at least 250 cases, each with an id of its own and a title of its own in its topic", (t) => {
  t.true(contractCases.length >= 250);
  t.is(new Set(contractCases.map(({ id }) => id)).size, contractCases.length);
  const titles = contractCases.map(({ id, title }) => `${id.split("/", 1)[0]}: ${title}`);
  t.deepEqual(
    titles.filter((title, i) => titles.indexOf(title) !== i),
    [],
  );
});

test("no case is skipped or known to fail without a reason", (t) => {
  const reasons = contractCases.flatMap(({ id, only, knownFailure }) => [
    ...(only ? [{ id, why: only.why }] : []),
    ...(knownFailure === undefined ? [] : [{ id, why: knownFailure }]),
  ]);
  t.deepEqual(
    reasons.filter(({ why }) => why.trim().length < 10),
    [],
  );
});

test("no case has a name that a runner would read over", (t) => {
  for (const example of contractCases) t.deepEqual(faultsIn(example), [], example.id);
});

test("a misspelt field, key or value of a case is found", (t) => {
  const find = (steps: unknown): readonly string[] =>
    faultsIn({ id: "x", title: "x", steps: steps as ContractCase["steps"] });
  const expecting = (expect: unknown): readonly string[] =>
    find([{ call: "Refuse", request: {}, expect }]);
  t.is(find([{ call: "Refuse", request: { reasn: "x" }, expect: {} }]).length, 1);
  t.is(expecting({ message: { call: { replayd: null } } }).length, 1);
  t.is(expecting({ message: { call: { errorKind: "ERROR_KIND_NONE" } } }).length, 1);
  t.is(expecting({ message: { call: { $all: [{ resalt: "" }] } } }).length, 1);
  t.is(expecting({ mesage: {} }).length, 1);
  t.is(expecting({ fault: { code: "ABORTED", why: "x" } }).length, 1);
  t.is(expecting({ message: { call: { error: { $matches: "(?=x)" } } } }).length, 1);
  t.is(find([{ receive: "nobody", message: {} }]).length, 1);
  t.is(find([{ call: "Refuse", request: {}, expect: {}, retries: 1 }]).length, 1);
});
