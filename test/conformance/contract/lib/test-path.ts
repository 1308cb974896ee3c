import test from "ava";
import { contractCases } from "../../../../src/conformance/cases.ts";
import {
  type FixtureServers,
  serveFixture,
} from "../../../../src/conformance/fixture/serve-fixture.ts";
import { paths } from "../../../../src/conformance/paths/paths.ts";
import { runCase } from "../../../../src/conformance/run-case.ts";
import { reasonToSkip, SuiteLink } from "../../../../src/conformance/run-suite.ts";
import { Places } from "./places.ts";

/** How many cases run at once: AVA begins every test of a file at the same time. */
const atOnce = 16;

/** Registers one test a case, over the path of that name, against servers of their own. */
export function testPath(name: string, options?: Parameters<typeof serveFixture>[0]): void {
  const path = paths.find((each) => each.name === name);
  if (!path) throw new Error(`there is no path ${JSON.stringify(name)}`);
  const places = new Places(atOnce);
  let served: FixtureServers;
  let link: SuiteLink;

  test.before(async () => {
    served = await serveFixture(options);
    link = new SuiteLink(path, served);
  });

  test.after.always(async () => {
    link.close();
    await served.close();
  });

  for (const example of contractCases) {
    const { id, title, knownFailure } = example;
    const why = reasonToSkip(example, path);
    if (why !== undefined) {
      test.skip(`${id}: ${title} (${why})`, () => {});
      continue;
    }
    const run = knownFailure === undefined ? test : test.failing;
    run(knownFailure === undefined ? `${id}: ${title}` : `${id}: ${title} (${knownFailure})`, (t) =>
      places.hold(async () => {
        t.deepEqual(await runCase(example, await link.world(example.server)), []);
      }),
    );
  }
}
