import test from "ava";
import { load } from "cheerio";
import { type ContractCase, contractCases } from "../../../src/conformance/cases.ts";
import {
  type FixtureServers,
  serveFixture,
} from "../../../src/conformance/fixture/serve-fixture.ts";
import { junitReport } from "../../../src/conformance/junit.ts";
import type { Path } from "../../../src/conformance/paths/path.ts";
import { paths } from "../../../src/conformance/paths/paths.ts";
import { textReport } from "../../../src/conformance/report.ts";
import { type CaseResult, runSuite, type SuiteTarget } from "../../../src/conformance/run-suite.ts";

let served: FixtureServers;

test.before(async () => {
  served = await serveFixture();
});

test.after.always(() => served.close());

/** Runs some cases against servers that may be other ones than the cases are for. */
async function tried(
  target: SuiteTarget["addresses"],
  cases: readonly ContractCase[],
  taken: readonly Path[] = paths.slice(0, 1),
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  const suite = { addresses: target, token: served.token };
  await runSuite(suite, { paths: taken, cases }, (result) => results.push(result));
  return results;
}

function named(...ids: readonly string[]): readonly ContractCase[] {
  return contractCases.filter(({ id }) => ids.includes(id));
}

function verdicts(results: readonly CaseResult[]): Readonly<Record<string, string>> {
  return Object.fromEntries(results.map(({ example, verdict }) => [example.id, verdict]));
}

test("a server without a journal, with other limits or without a token is found out", async (t) => {
  const { narrow, main } = served.addresses;
  const cases = named("retry/replay", "retry/other-value", "access/manifest", "health/service");
  const results = await tried({ main: narrow, guarded: main }, cases);
  t.deepEqual(verdicts(results), {
    "retry/replay": "failed",
    "retry/other-value": "failed",
    "access/manifest": "failed",
    "health/service": "passed",
  });
  const [details = ""] =
    results.find(({ example }) => example.id === "retry/replay")?.details ?? [];
  t.regex(details, /^step 2 \(Execute\): /u);
});

test("a set of other tools is found out, over every path", async (t) => {
  const { empty } = served.addresses;
  const results = await tried({ main: empty }, named("manifest/all", "execute/echo"), paths);
  t.is(results.length, 2 * paths.length);
  t.true(results.every(({ verdict }) => verdict === "failed"));
});

test("a case whose server is not given is skipped, and says so", async (t) => {
  const { main } = served.addresses;
  const results = await tried({ main }, named("limits/overloaded", "health/whole"));
  t.deepEqual(verdicts(results), { "limits/overloaded": "skipped", "health/whole": "passed" });
  t.regex(textReport(results), /SKIPPED {2}1: no server "narrow" was given/u);
});

test("a case that is limited to some protocols is skipped over the others, with its reason", async (t) => {
  const [example] = named("health/whole");
  if (!example) return t.fail();
  const only = { protocols: ["connect"], why: "it is tried there alone" } as const;
  const results = await tried(served.addresses, [{ ...example, only }], paths);
  t.deepEqual(
    results.map(({ path, verdict }) => [path.protocol, verdict]),
    paths.map(({ protocol }) => [protocol, protocol === "connect" ? "passed" : "skipped"]),
  );
});

test("a known failure has to fail", async (t) => {
  const knownFailure = "it is only said to fail";
  const [passing] = named("health/whole");
  const [failing] = named("manifest/all");
  if (!passing || !failing) return t.fail();
  const { main, empty } = served.addresses;
  const wrongly = await tried({ main }, [{ ...passing, knownFailure }]);
  t.deepEqual(verdicts(wrongly), { "health/whole": "failed" });
  const rightly = await tried({ main: empty }, [{ ...failing, knownFailure }]);
  t.deepEqual(verdicts(rightly), { "manifest/all": "known" });
});

test("a server that is not there fails its cases with one sentence", async (t) => {
  const results = await tried({ main: "unix:/nowhere/port.sock" }, named("health/whole"), paths);
  t.true(results.every(({ verdict }) => verdict === "failed"));
  for (const { details } of results) t.regex(details.join(), /unix:\/nowhere\/port\.sock/u);
});

test("the JUnit report has a suite for each path, with what failed and was skipped", async (t) => {
  const { main, empty } = served.addresses;
  const cases = named("manifest/all", "health/whole", "limits/overloaded");
  const xml = junitReport([
    ...(await tried({ main }, cases)),
    ...(await tried({ main: empty }, cases, paths.slice(1, 2))),
  ]);
  const $ = load(xml, { xml: true });
  t.deepEqual(
    $("testsuite")
      .toArray()
      .map((suite) => [$(suite).attr("name"), $(suite).attr("tests"), $(suite).attr("failures")]),
    [
      ["grpc-js gRPC", "3", "0"],
      ["connect-node gRPC", "3", "1"],
    ],
  );
  t.regex($("failure").attr("message") ?? "", /step 1 \(Manifest\)/u);
  t.is($("skipped").length, 2);
});

test("a JUnit report is XML whatever a server answered", (t) => {
  const [example] = contractCases;
  const [path] = paths;
  if (!example || !path) return t.fail();
  const details = ['<&"> \u0000 \u001b[1m \ud800'];
  const xml = junitReport([{ path, example, verdict: "failed", details, durationMs: 1 }]);
  const $ = load(xml, { xml: true });
  t.is($("failure").attr("message"), '<&"> \ufffd \ufffd[1m \ufffd');
});
