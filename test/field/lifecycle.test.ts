import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import anyTest, { type ExecutionContext } from "ava";
import { connect, type ToolPortClient } from "../../src/client/index.ts";
import { type Sidecar, until, Workplace } from "../cli/lib/run-cli.ts";
import { clientOf } from "../server/world.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
anyTest.after.always(() => place.remove());

interface Started {
  readonly sidecar: Sidecar;
  readonly client: ToolPortClient;
}

async function start(
  t: ExecutionContext,
  tools: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Started> {
  const sidecar = await place.serve([tools, ...args], env);
  const client = connect({ address: sidecar.ready.address });
  t.teardown(async () => {
    client.close();
    await sidecar.stop();
  });
  return { sidecar, client };
}

const leftBehind = `
import { EventEmitter } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";
const emitter = new EventEmitter();
export default defineTools({
  tools: [
    defineTool({
      name: "litter",
      description: "Leaves callbacks behind",
      execute: async () => {
        setTimeout(() => Promise.reject(new Error("late")), 20);
        setTimeout(() => emitter.emit("x"), 20);
        emitter.on("x", () => { throw new Error("later"); });
        return "ok";
      },
    }),
    defineTool({
      name: "patient",
      description: "Outlasts them",
      execute: async () => { await wait(300); return "still here"; },
    }),
  ],
});
`;

test("B46 what a tool left behind fails alone, with the tool's name in the log", async (t) => {
  const { sidecar, client } = await start(t, place.write("left-behind.ts", leftBehind));
  const patient = client.execute({ name: "patient" }).result;
  t.is((await client.execute({ name: "litter" }).result).result, "ok");
  t.is((await patient).result, "still here");
  await until(() => /later/u.test(sidecar.output().stderr));
  const { stderr } = sidecar.output();
  t.regex(stderr, /litter.*\blate\b|\blate\b.*litter/u);
  t.is((await client.execute({ name: "litter" }).result).result, "ok");
  t.is(sidecar.child.exitCode, null);
  t.is(await sidecar.stop(), 0);
});

const quick = `
import { defineTool, defineTools } from "toolport";
export default defineTools({
  tools: [
    defineTool({
      name: "throws",
      description: "d",
      timeoutMs: 60_000,
      execute: async () => { throw new RangeError("at once"); },
    }),
    defineTool({ name: "answers", description: "d", timeoutMs: 60_000, execute: async () => "at once" }),
  ],
});
`;

test("B47 a tool with a time limit that throws at once leaves nothing to crash the process", async (t) => {
  const env = { NODE_OPTIONS: "--unhandled-rejections=strict" };
  const { sidecar, client } = await start(t, place.write("quick.ts", quick), [], env);
  for (let round = 0; round < 50; round += 1) {
    const [threw, answered] = await Promise.all(
      ["throws", "answers"].map(
        async (name) => await client.execute({ name }, { deadlineMs: 60_000 }).result,
      ),
    );
    t.is(threw?.error, "RangeError: at once");
    t.is(answered?.result, "at once");
  }
  t.is(sidecar.child.exitCode, null);
  t.notRegex(sidecar.output().stderr, /rejection/iu);
  const before = performance.now();
  t.is(await sidecar.stop(), 0);
  // A timer of those calls would hold the process for a minute.
  t.true(performance.now() - before < 30_000);
});

const noisy = `
import { defineTool, defineTools } from "toolport";
console.log("loading...");
process.stdout.write("no newline");
export default defineTools({
  tools: [
    defineTool({
      name: "chatty",
      description: "d",
      execute: () => {
        console.log("log of a tool");
        process.stdout.write("write of a tool");
        return "done";
      },
    }),
  ],
});
`;

test("B82 what tools print while they load does not hide the ready line", async (t) => {
  const { sidecar, client } = await start(t, place.write("noisy.ts", noisy));
  t.is((await client.manifest()).tools.length, 1);
  const { stdout, stderr } = sidecar.output();
  t.is(stdout.trimEnd().split("\n").length, 1);
  t.true(stderr.includes("loading..."));
  t.true(stderr.includes("no newline"));
});

test("B82 where loading fails, what was printed can be read beside the reason", async (t) => {
  const failing = place.write(
    "failing.ts",
    `console.log("a clue"); throw new Error("no such luck");`,
  );
  const { code, stdout, stderr } = await place.run(["serve", failing]);
  t.is(code, 2);
  t.is(stdout, "");
  t.regex(stderr, /a clue/u);
  t.regex(stderr, /no such luck/u);
});

test("B77 what tools print does not disturb the sidecar's own line", async (t) => {
  const { sidecar, client } = await start(t, place.write("noisy.ts", noisy));
  t.is((await client.execute({ name: "chatty" }).result).result, "done");
  await until(() => sidecar.output().stderr.includes("write of a tool"));
  t.true(sidecar.output().stderr.includes("log of a tool"));
  t.is(sidecar.output().stdout.trimEnd().split("\n").length, 1);
});

test("B86 a socket whose owner was killed is taken over, and a live one is not", async (t) => {
  const tools = place.write("quick.ts", quick);
  const path = join(place.path, "taken.sock");
  const first = await place.serve([tools, "--address", `unix:${path}`]);
  await first.stop("SIGKILL");
  t.true(existsSync(path));
  const { client } = await start(t, tools, ["--address", `unix:${path}`]);
  const second = await place.run(["serve", tools, "--address", `unix:${path}`]);
  t.is(second.code, 2);
  t.regex(second.stderr, /another process is listening/u);
  t.is((await client.execute({ name: "answers" }).result).result, "at once");
});

test("B86 a file that is no socket is left as it is", async (t) => {
  const path = join(place.path, "precious.txt");
  writeFileSync(path, "precious");
  const tools = place.write("quick.ts", quick);
  const { code, stderr } = await place.run(["serve", tools, "--address", `unix:${path}`]);
  t.is(code, 2);
  t.true(stderr.includes(path), stderr);
  t.is(readFileSync(path, "utf8"), "precious");
});

const slow = `
import { setTimeout as wait } from "node:timers/promises";
import { defineTool, defineTools } from "toolport";
await wait(500);
export default defineTools({
  tools: [defineTool({ name: "late", description: "d", execute: () => "here" })],
});
`;

test("B87 nobody is answered before the tools are loaded, and then with all of them", async (t) => {
  const port = await freePort();
  const tools = place.write("slow.ts", slow);
  const early = clientOf({ port });
  let isReady = false;
  const starting = place
    .serve([tools, "--address", `127.0.0.1:${port}`, "--insecure-no-auth"])
    .finally(() => {
      isReady = true;
    });
  let refused = 0;
  for (;;) {
    const wasReady = isReady;
    try {
      const { tools: listed } = await early.manifest({}, { timeoutMs: 30_000 });
      t.deepEqual(
        listed.map(({ name }) => name),
        ["late"],
      );
      break;
    } catch (error) {
      t.is(ConnectError.from(error).code, Code.Unavailable);
      t.false(wasReady);
      refused += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  t.true(refused > 0);
  const sidecar = await starting;
  t.is(await sidecar.stop(), 0);
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
