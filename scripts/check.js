// Runs every check but the tests, each even where one before it failed:
//
//     npm run check                 all of them
//     npm run check -- lint types   those that bear these names
import { api } from "./checks/api.js";
import { clients } from "./checks/clients.js";
import { code } from "./checks/code.js";
import { contract } from "./checks/contract.js";
import { packaged } from "./checks/package.js";
import { main } from "./lib/run.js";

const checks = { ...contract, ...code, ...packaged, ...api, ...clients };

await main(async () => {
  const names = process.argv.slice(2);
  for (const name of names) {
    if (!Object.hasOwn(checks, name)) {
      throw new Error(`no check is named ${name}; there are: ${Object.keys(checks).join(", ")}`);
    }
  }
  const failed = [];
  for (const name of names.length > 0 ? names : Object.keys(checks)) {
    const from = performance.now();
    const error = await failure(checks[name]);
    const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(5);
    console.log(`${error ? "✘" : "✔"} ${name.padEnd(24)} ${seconds} s`);
    if (!error) continue;
    failed.push(name);
    console.log(`\n${error.message.replace(/^/gm, "    ")}\n`);
  }
  if (failed.length > 0) throw new Error(`${failed.length} failed: ${failed.join(", ")}`);
  console.log("\nall checks passed");
});

async function failure(check) {
  try {
    await check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
