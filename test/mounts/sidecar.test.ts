import { join } from "node:path";
import test, { type ExecutionContext } from "ava";

import { connect } from "../../src/client/index.ts";
import { Workplace } from "../cli/lib/run-cli.ts";
import { until } from "../field/world.ts";
import type { Script } from "./servers/scripted.ts";
import { isRunning, linesOf, listed } from "./world.ts";

const server = join(import.meta.dirname, "servers/scripted.ts");
const said = (text: string): object => ({ content: [{ type: "text", text }] });

/** A tools file with an isolated tool and a mounted server, and the server's log. */
function write(
  t: ExecutionContext,
  script: Script,
): { place: Workplace; file: string; pids(): readonly number[] } {
  const place = new Workplace();
  t.teardown(() => place.remove());
  const log = join(place.path, "log");
  const args = JSON.stringify([server, JSON.stringify({ log, ...script })]);
  const file = place.write(
    "tools.mjs",
    `import { defineTool, defineTools, mcp } from "toolport";
     const alone = defineTool({
       name: "alone", description: "Runs in a thread.", isolate: "worker", execute: () => "alone",
     });
     export default defineTools({
       tools: [alone],
       capabilities: [mcp({ name: "desk", command: process.execPath, args: ${args} })],
     });`,
  );
  const pids = (): readonly number[] =>
    linesOf(log)
      .filter((line) => line.startsWith("start "))
      .map((line) => Number(line.slice(6)));
  return { place, file, pids };
}

const script: Script = {
  pages: [{ tools: [listed("echo"), { name: "odd", inputSchema: 3 }] }],
  answers: { echo: said("fine") },
};

test("check starts the servers, says what they offer and what is odd, and ends them", async (t) => {
  const { place, file, pids } = write(t, script);
  const { code, stdout } = await place.run(["check", file, "--json"]);
  t.is(code, 0);
  const { tools, warnings } = JSON.parse(stdout) as { tools: string[]; warnings: string[] };
  t.deepEqual(tools, ["alone", "echo", "odd"]);
  t.regex(warnings.join("\n"), /MCP server "desk": tool 'odd': its arguments are not checked/u);
  t.is(pids().length, 1);
  t.deepEqual(pids().filter(isRunning), []);
});

test("a server that can't be mounted ends the command with code 2 before it listens", async (t) => {
  const { place, file } = write(t, { endsAt: "start", exitCode: 9, stderr: "no licence" });
  for (const command of ["check", "serve"]) {
    const { code, stdout, stderr } = await place.run([command, file]);
    t.is(code, 2);
    t.notRegex(stdout, /"toolport":1/u);
    t.regex(stderr, /the MCP server "desk" .* can't be mounted: it ended with exit code 9/u);
    t.regex(stderr, /no licence/u);
  }
});

test("B87: the ready line comes once a slow server has listed its tools, and the set is whole then", async (t) => {
  const { place, file, pids } = write(t, { ...script, startMs: 1500 });
  const sidecar = await place.serve([file]);
  const client = connect({ address: sidecar.ready.address });
  t.teardown(() => client.close());
  const { tools } = await client.manifest();
  t.deepEqual(
    tools.map(({ name, capability }) => [name, capability]),
    [
      ["alone", ""],
      ["echo", "desk"],
      ["odd", "desk"],
    ],
  );
  t.is((await client.execute({ name: "echo" }).result).result, "fine");
  // A thread builds the same set, and starts no server for it.
  t.is((await client.execute({ name: "alone" }).result).result, "alone");
  t.is(pids().length, 1);
  t.true(pids().every(isRunning));
  t.is(await sidecar.stop(), 0);
  t.deepEqual(pids().filter(isRunning), []);
});

test("the servers of a sidecar that is killed end too", async (t) => {
  const { place, file, pids } = write(t, script);
  const sidecar = await place.serve([file]);
  t.true(pids().every(isRunning));
  await sidecar.stop("SIGKILL");
  await until(() => !pids().some(isRunning));
  t.pass();
});

test("a signal while the servers still start leaves none of them", async (t) => {
  const { place, file, pids } = write(t, { ...script, startMs: 60_000, isStubborn: true });
  const child = place.start(["serve", file]);
  await until(() => pids().length === 1);
  child.kill("SIGTERM");
  await until(() => child.exitCode !== null && !pids().some(isRunning));
  t.pass();
});
