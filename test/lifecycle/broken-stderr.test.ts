import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import test from "ava";

import { connect } from "../../src/client/index.ts";
import { Workplace } from "../cli/lib/run-cli.ts";

const place = new Workplace();
test.after.always(() => place.remove());

test("a sidecar whose log nobody reads any more goes on, and ends in order", async (t) => {
  const tools = place.write(
    "tools.ts",
    `import { defineTool, defineTools } from "toolport";
    const shout = defineTool({
      name: "shout",
      description: "Prints.",
      execute() {
        console.error("hello?");
        return "printed";
      },
    });
    export default defineTools({ tools: [shout] });`,
  );
  const main = join(import.meta.dirname, "../../dist/src/cli/main.js");
  const sidecar = spawn(process.execPath, [main, "serve", tools, "--log-level", "debug"]);
  t.teardown(() => sidecar.kill("SIGKILL"));
  const [line] = (await once(sidecar.stdout, "data")) as [Buffer];
  const { address } = JSON.parse(line.toString()) as { address: string };
  sidecar.stderr.destroy();
  const client = connect({ address });
  for (let i = 0; i < 3; i++)
    t.is((await client.execute({ name: "shout" }).result).result, "printed");
  client.close();
  const exited = once(sidecar, "exit");
  sidecar.kill("SIGTERM");
  t.deepEqual(await exited, [0, null]);
});
