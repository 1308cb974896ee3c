import { join } from "node:path";

import test from "ava";

import { connect } from "../../src/client/index.ts";
import { ended, until, Workplace } from "../cli/lib/run-cli.ts";

const place = new Workplace();
test.after.always(() => place.remove());

const fifo = join(place.path, "fifo");
test.before(async () => {
  await ended(place.shell(`mkfifo '${fifo}'`));
});
const tools = place.write(
  "tools.mjs",
  `import { readFileSync } from "node:fs";
   import { defineTool, defineTools } from "toolport";
   const tool = (name, execute) => defineTool({
     name, description: name, parameters: { type: "object" }, isolate: "worker", execute,
   });
   export default defineTools({ tools: [
     tool("prints", () => { console.log("printed by a tool"); return "quiet"; }),
     tool("exits", () => process.exit(5)),
     tool("spins", (_args, { progress }) => { progress(1); for (;;); }),
     // Nobody ever writes to it, so opening it waits in the system for ever.
     tool("stuck", async (_args, { output }) => { await output("soon"); return readFileSync(${JSON.stringify(fifo)}); }),
   ] });`,
);

test.serial("what an isolated tool prints goes to standard error", async (t) => {
  const { code, stdout, stderr } = await place.run(["call", "prints", "--tools", tools, "--json"]);
  t.is(code, 0);
  t.like(JSON.parse(stdout), { ok: true, result: "quiet" });
  t.regex(stderr, /printed by a tool/u);
});

test.serial(
  "check accepts isolated tools, and the command line runs them in threads",
  async (t) => {
    t.is((await place.run(["check", tools])).code, 0);
    const { code, stdout } = await place.run(["call", "exits", "--tools", tools, "--json"]);
    t.is(code, 1);
    t.like(JSON.parse(stdout), {
      errorKind: "HOST_LOST",
      error: 'HostLost: the worker thread of "exits" ended with exit code 5',
    });
  },
);

test.serial("a tool that spins for ever holds up neither its sidecar nor its end", async (t) => {
  const sidecar = await place.serve([tools, "--drain-grace-ms", "100"]);
  const client = connect({ address: sidecar.ready.address });
  const spinning = client.execute({ name: "spins" });
  await spinning[Symbol.asyncIterator]().next();
  const drained = t.throwsAsync(spinning.result, { code: "DRAINING" });
  t.is((await client.execute({ name: "prints" }).result).result, "quiet");
  t.is(await sidecar.stop(), 0);
  await drained;
  client.close();
});

test.serial("a thread that waits in the system does not hold up the end", async (t) => {
  const sidecar = await place.serve([tools, "--drain-grace-ms", "100"]);
  const client = connect({ address: sidecar.ready.address });
  const stuck = client.execute({ name: "stuck" });
  await stuck[Symbol.asyncIterator]().next();
  const drained = t.throwsAsync(stuck.result, { code: "DRAINING" });
  void sidecar.stop();
  await until(() => sidecar.child.exitCode !== null || sidecar.child.signalCode !== null);
  t.is(sidecar.child.signalCode, "SIGKILL");
  t.regex(sidecar.output().stderr, /thread_stuck/u);
  await drained;
  client.close();
});
