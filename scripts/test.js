// Runs every test, in TypeScript, Python and Go, one suite after the other:
//
//     npm test                    all of them
//     npm test -- python go       some suites
//     npm test -- ts test/server  with arguments for the suite's own runner
//
// Every failure is told at the end. The last line is the sum.
import { main } from "./lib/run.js";
import { ava } from "./suites/ava.js";
import { go } from "./suites/go.js";
import { pytest } from "./suites/pytest.js";

const suites = { ts: ava, python: pytest, go };

await main(async () => {
  const [names, args] = chosen(process.argv.slice(2));
  const results = [];
  for (const name of names) {
    console.log(`\n── ${name} ${"─".repeat(66 - name.length)}`);
    results.push(await suites[name](args));
  }
  let passed = 0;
  let failed = 0;
  const told = [];
  for (const { name, code, ...result } of results) {
    const failures = [...result.failures];
    if (code !== 0 && failures.length === 0) failures.push(`the run ended with ${code}`);
    passed += result.passed;
    failed += failures.length;
    told.push(...failures.map((failure) => `✘ ${name}: ${failure}`));
    console.log(`\n${name}: ${result.passed} passed, ${failures.length} failed`);
  }
  if (told.length > 0) console.log(`\n${told.join("\n")}`);
  console.log(`\n${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
});

function chosen(given) {
  const first = given.findIndex((each) => !Object.hasOwn(suites, each));
  const names = first < 0 ? given : given.slice(0, first);
  const args = first < 0 ? [] : given.slice(first);
  if (args.length > 0 && names.length !== 1) {
    throw new Error(
      `${args[0]} is an argument of one suite: name that suite before it, one of ${Object.keys(suites).join(", ")}.`,
    );
  }
  return [names.length > 0 ? names : Object.keys(suites), args];
}
