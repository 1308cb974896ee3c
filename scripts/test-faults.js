// Runs the tests that end sidecars in every way, at their full size:
//
//     npm run test:faults                           200 kills
//     TOOLPORT_FAULTS_KILLS=1000 npm run test:faults
//     TOOLPORT_FAULTS_SEED=42 npm run test:faults   the choices of a seed that was printed
process.env.TOOLPORT_FAULTS_KILLS ??= "200";

// What these import copies the environment.
const { main } = await import("./lib/run.js");
const { ava } = await import("./suites/ava.js");

await main(async () => {
  const { code, passed, failures } = await ava(["test/faults/*.test.ts", "--serial"]);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  if (code !== 0) process.exitCode = 1;
});
