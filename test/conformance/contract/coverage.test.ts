import { readFileSync } from "node:fs";
import test from "ava";
import { contractCases } from "../../../src/conformance/cases.ts";
import { serveFixture } from "../../../src/conformance/fixture/serve-fixture.ts";
import { paths } from "../../../src/conformance/paths/paths.ts";
import { runCase } from "../../../src/conformance/run-case.ts";
import { SuiteLink } from "../../../src/conformance/run-suite.ts";
import {
  file_toolport_v1_selection,
  file_toolport_v1_tool,
  file_toolport_v1_tool_port_service,
} from "../../../src/wire/v1.ts";
import { Coverage, coverablesOf, reason } from "./lib/coverage.ts";

const proto = readFileSync(
  new URL("../../../proto/toolport/v1/tool_port_service.proto", import.meta.url),
  "utf8",
);

const uncovered = JSON.parse(
  readFileSync(new URL("../../../src/conformance/uncovered.json", import.meta.url), "utf8"),
) as readonly { readonly what: string; readonly why: string }[];

/** The reasons that the contract's own table lists. */
const reasons = [...proto.matchAll(/^\/\/ \| ([A-Z_]+) +\| [A-Z_]+ +\|/gmu)].map(([, name = ""]) =>
  reason(name),
);

const contract = new Set([
  ...coverablesOf([
    file_toolport_v1_tool,
    file_toolport_v1_selection,
    file_toolport_v1_tool_port_service,
  ]),
  ...reasons,
]);

test("the contract's reasons, fields and values are found", (t) => {
  t.true(reasons.length >= 19);
  t.true(contract.has("toolport.v1.ToolCall.result absent"));
  t.true(contract.has("toolport.v1.ErrorKind.ERROR_KIND_INDETERMINATE"));
  t.true(contract.has("rpc toolport.v1.ToolPortService/Run"));
});

test("what is said to be uncovered is of the contract, once, with a reason", (t) => {
  t.is(new Set(uncovered.map(({ what }) => what)).size, uncovered.length);
  for (const { what, why } of uncovered) {
    t.true(contract.has(what), `${what} is nothing of the contract`);
    t.not(why, "");
  }
});

test("every RPC, field, absence, enum value and fault of the contract is shown by a case", async (t) => {
  const [path] = paths;
  if (!path) return t.fail();
  const served = await serveFixture();
  const link = new SuiteLink(path, served);
  const all = new Coverage();
  const waiting = [...contractCases];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const own = new Coverage();
      const world = { ...(await link.world(next.server)), watch: own };
      const differences = await runCase(next, world);
      // What a case that fails has seen proves nothing.
      if (differences.length === 0) all.add(own);
    }
  };
  try {
    await Promise.all(Array.from({ length: 16 }, work));
  } finally {
    link.close();
    await served.close();
  }
  const known = new Set(uncovered.map(({ what }) => what));
  t.deepEqual(
    [...contract].filter((each) => !all.seen.has(each) && !known.has(each)),
    [],
  );
  t.deepEqual(
    [...known].filter((each) => all.seen.has(each)),
    [],
  );
});
