import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import anyTest, { type ExecutionContext } from "ava";

import { connect } from "../../src/client/index.ts";
import { ended, gather, until, Workplace } from "../cli/lib/run-cli.ts";
import { gateTools } from "./tools-text.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
const tools = place.write("tools.ts", gateTools);
anyTest.after.always(() => place.remove());

const path = (name: string): string => join(place.path, name);

/** A kernel that spawns a sidecar, hands its ready line on, and then only waits. */
const kernelText = `
import { spawn } from "node:child_process";
const [stdin, ...args] = process.argv.slice(2);
spawn(process.execPath, args, { stdio: [stdin, "inherit", "inherit"] });
setInterval(() => {}, 1000);
`;

interface Family {
  readonly kernel: ChildProcess;
  readonly pid: number;
  readonly address: string;
}

async function startFamily(
  t: ExecutionContext,
  stdin: "pipe" | "ignore",
  args: readonly string[],
): Promise<Family> {
  const kernelFile = place.write("kernel.mjs", kernelText);
  const main = join(import.meta.dirname, "../../dist/src/cli/main.js");
  const serve = [main, "serve", tools, "--exit-with-parent", ...args];
  const kernel = spawn(process.execPath, [kernelFile, stdin, ...serve], { stdio: "pipe" });
  t.teardown(() => kernel.kill("SIGKILL"));
  const stdout = gather(kernel.stdout);
  await until(() => stdout().includes("\n"));
  return { kernel, ...(JSON.parse(stdout()) as { pid: number; address: string }) };
}

/** Whether a process lives; one that nobody has waited for yet does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

for (const stdin of ["pipe", "ignore"] as const) {
  const how = stdin === "pipe" ? "its standard input closes" : "it gets another parent";
  test(`kill -9 of the kernel ends its sidecar, calls and all: ${how}`, async (t) => {
    const socket = path(`${stdin}.sock`);
    const journal = path(`${stdin}.db`);
    const args = ["--address", `unix:${socket}`, "--journal", journal];
    const { kernel, pid, address } = await startFamily(t, stdin, args);
    const client = connect({ address });
    const key = { runId: "r", callId: "c" };
    const call = client.execute({ name: "deaf", ...key }, { onDisconnect: "continue" });
    await call[Symbol.asyncIterator]().next();
    const start = performance.now();
    kernel.kill("SIGKILL");
    await until(() => !isAlive(pid));
    t.log(`the sidecar ended ${Math.round(performance.now() - start)} ms after its kernel`);
    t.false(existsSync(socket));
    const fault = await t.throwsAsync(call.result);
    t.like(fault, { code: "DRAINING", started: "yes" });
    client.close();
    // Whoever starts next has neither a lock nor a socket in the way.
    const next = await place.serve([tools, "--drain-grace-ms", "0", ...args]);
    t.is(await next.stop(), 0);
  });
}

test("a private folder goes with the kernel too", async (t) => {
  const { kernel, pid, address } = await startFamily(t, "pipe", []);
  const folder = dirname(address.slice("unix:".length));
  t.true(existsSync(folder));
  kernel.kill("SIGKILL");
  await until(() => !isAlive(pid));
  t.false(existsSync(folder));
});

test("a sidecar that is killed leaves its socket behind, and the next one takes it over", async (t) => {
  const address = `unix:${path("stale.sock")}`;
  const first = await place.serve([tools, "--address", address]);
  await first.stop("SIGKILL");
  t.true(existsSync(path("stale.sock")));
  const second = await place.serve([tools, "--address", address]);
  const client = connect({ address });
  t.is((await client.execute({ name: "quick" }).result).result, "done");
  client.close();
  t.is(statSync(path("stale.sock")).mode & 0o777, 0o600);
  t.is(await second.stop(), 0);
});

test("a socket that somebody serves, and any other file, are left alone", async (t) => {
  const address = `unix:${path("live.sock")}`;
  const first = await place.serve([tools, "--address", address]);
  const second = await place.run(["serve", tools, "--address", address]);
  t.is(second.code, 2);
  t.regex(second.stderr, /another process is listening at .*live\.sock/u);
  const client = connect({ address });
  t.is((await client.execute({ name: "quick" }).result).result, "done");
  client.close();
  await first.stop();
  writeFileSync(path("regular"), "kept");
  const third = await place.run(["serve", tools, "--address", `unix:${path("regular")}`]);
  t.is(third.code, 2);
  t.is(readFileSync(path("regular"), "utf8"), "kept");
});

test("the ready line and the socket come only when the tools are loaded", async (t) => {
  const socket = path("ready.sock");
  const gate = path("load-gate");
  const env = { LOAD_GATE: gate };
  const child = place.start(["serve", tools, "--address", `unix:${socket}`], env);
  const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
  await until(() => stderr().includes("loading"));
  t.is(stdout(), "");
  t.false(existsSync(socket));
  writeFileSync(gate, "");
  await until(() => stdout().endsWith("\n"));
  t.like(JSON.parse(stdout()), { toolport: 1, address: `unix:${socket}` });
  t.true(existsSync(socket));
  const end = ended(child);
  child.kill("SIGTERM");
  t.is(await end, 0);
});

test("SIGTERM before it is ready ends it, with 1 and nothing left", async (t) => {
  const socket = path("never.sock");
  const env = { LOAD_GATE: path("never-there") };
  const child = place.start(["serve", tools, "--address", `unix:${socket}`], env);
  const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
  const end = ended(child);
  await until(() => stderr().includes("loading"));
  child.kill("SIGTERM");
  t.is(await end, 1);
  t.is(stdout(), "");
  t.false(existsSync(socket));
});
