import { readFileSync } from "node:fs";
import { join } from "node:path";
import anyTest from "ava";
import { load } from "cheerio";
import { toolsText } from "./lib/tools-text.ts";
import { Workplace } from "./lib/run-cli.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
anyTest.after.always(() => place.remove());

const root = join(import.meta.dirname, "../..");

interface Reported {
  readonly id: string;
  readonly path: string;
  readonly verdict: string;
  readonly details: readonly string[];
}

test("without an address it tries this package itself, and passes", async (t) => {
  const { code, stdout } = await place.run(["conformance", "--filter", "health/"]);
  t.is(code, 0);
  const results = JSON.parse(stdout) as readonly Reported[];
  t.is(new Set(results.map(({ path }) => path)).size, 4);
  t.true(results.every(({ verdict, id }) => verdict === "passed" && id.startsWith("health/")));
});

test("a server of other tools fails, step by step, in the text and in the JUnit report", async (t) => {
  const { ready } = await place.serve([place.write("tools.ts", toolsText)]);
  const flags = ["--address", ready.address, "--protocol", "grpc", "--filter", "manifest/all"];
  const run = await place.run(["conformance", ...flags, "--junit", "report.xml", "-o", "text"]);
  t.is(run.code, 1);
  t.regex(run.stdout, /^FAILED {2}manifest\/all over grpc-js gRPC\n.+\n {2}step 1 \(Manifest\): /u);
  const report = load(readFileSync(join(place.path, "report.xml"), "utf8"), { xml: true });
  t.is(report("testsuites").attr("failures"), "2");
  t.deepEqual(
    report("testsuite")
      .toArray()
      .map((suite) => [report(suite).attr("name"), report(suite).find("failure").length]),
    [
      ["grpc-js gRPC", 1],
      ["connect-node gRPC", 1],
    ],
  );
  const first = report("testcase").first();
  t.is(first.attr("classname"), "grpc-js gRPC.manifest");
  t.regex(first.attr("name") ?? "", /^manifest\/all: The tools are listed/u);
  t.regex(first.find("failure").text(), /^step 1 \(Manifest\): /u);
});

test("what can't be tried is told in one sentence, with the exit code for it", async (t) => {
  const conformance = (...flags: readonly string[]): ReturnType<Workplace["run"]> =>
    place.run(["conformance", ...flags]);
  const nobody = await conformance("--address", "unix:/nowhere/port.sock");
  t.is(nobody.code, 1);
  t.regex(nobody.stderr, /the server "main" at unix:\/nowhere\/port\.sock gives no manifest/u);
  const none = await conformance("--filter", "no such case");
  t.is(none.code, 2);
  t.regex(none.stderr, /no case's id has the text "no such case"/u);
  const half = await conformance("--guarded", "unix:/nowhere/port.sock");
  t.is(half.code, 2);
  t.regex(half.stderr, /--guarded and --guarded-token-file go together/u);
  const unwritable = await conformance("--filter", "health/", "--junit", "nowhere/report.xml");
  t.is(unwritable.code, 2);
  t.regex(unwritable.stderr, /cannot write nowhere\/report\.xml/u);
});

test("the servers that docs/conformance.md sets up pass as it says", async (t) => {
  const page = readFileSync(join(root, "docs/conformance.md"), "utf8");
  const [, empty = ""] = /```ts\n(.*?)```/su.exec(page) ?? [];
  place.write("empty.ts", empty);
  const commands = [...page.matchAll(/^npx toolport (\w+) (.+)$/gmu)].map(
    ([, name, rest = ""]) => ({
      name,
      // The page's own folder first: a checkout may lie in it.
      args: rest
        .split(" ")
        .map((arg) =>
          arg
            .replaceAll("/tmp/", `${place.path}/`)
            .replaceAll("$FIXTURE", join(root, "dist/src/conformance/fixture")),
        ),
    }),
  );
  const servers = commands.filter(({ name }) => name === "serve");
  const [tried] = commands.filter(({ name }) => name === "conformance");
  t.is(servers.length, 4);
  for (const { args } of servers) await place.serve(args);
  // One protocol shows that the servers are what the cases need; the others are tried elsewhere.
  const flags = ["--protocol", "connect", "-o", "text"];
  const { code, stdout } = await place.run(["conformance", ...(tried?.args ?? []), ...flags]);
  t.is(stdout.replace(/\d+/u, "n"), "connect-node Connect  n passed\n");
  t.is(code, 0);
  const report = load(readFileSync(join(place.path, "report.xml"), "utf8"), { xml: true });
  t.true(Number(report("testsuites").attr("tests")) >= 250);
});
