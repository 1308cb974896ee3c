import { existsSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { join } from "node:path";

import anyTest, { type ExecutionContext } from "ava";

import {
  connect,
  type Execution,
  isToolPortError,
  type ToolPortClient,
} from "../../src/client/index.ts";
import { Outbox } from "../../src/server/outbox.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../src/wire/beside.ts";
import type { RunResponse } from "../../src/wire/v1.ts";
import { ended, type Sidecar, until, Workplace } from "../cli/lib/run-cli.ts";
import { clientFor, clientOf } from "../server/world.ts";
import { gateTools } from "./tools-text.ts";
import { layWire } from "./wire.ts";

// Each test runs processes of its own: one after another they don't starve each other.
const test = anyTest.serial;
const place = new Workplace();
const tools = place.write("tools.ts", gateTools);
anyTest.after.always(() => place.remove());

const path = (name: string): string => join(place.path, name);
const open = (name: string): void => writeFileSync(path(name), "");

async function serve(
  t: ExecutionContext,
  args: readonly string[] = [],
): Promise<{ sidecar: Sidecar; client: ToolPortClient; port: number }> {
  const listen = ["--address", "127.0.0.1:0", "--insecure-no-auth"];
  const sidecar = await place.serve([tools, ...listen, ...args]);
  const { address } = sidecar.ready;
  const client = connect({ address });
  t.teardown(() => client.close());
  return { sidecar, client, port: Number(address.split(":").at(-1)) };
}

/** Starts a call and waits until its tool has said that it runs. */
async function started(client: ToolPortClient, name: string, gate = "never"): Promise<Execution> {
  const execution = client.execute({
    name,
    arguments: { path: path(gate) },
    runId: "r",
    callId: gate,
  });
  const events = execution[Symbol.asyncIterator]();
  const first = await events.next();
  if (first.value?.case !== "output") throw new Error(`${name} did not start`);
  return execution;
}

test("SIGTERM: health says so, new calls are refused, those in flight end as they would, then it ends with 0", async (t) => {
  const { sidecar, client, port } = await serve(t, ["--drain-grace-ms", "60000"]);
  const statuses: Status[] = [];
  const watching = (async () => {
    for await (const { status } of clientFor(Health, { port }).watch({})) statuses.push(status);
  })();
  await until(() => statuses.length === 1);

  type Requests =
    Parameters<ReturnType<typeof clientOf>["run"]>[0] extends AsyncIterable<infer R> ? R : never;
  const requests = new Outbox<Requests>({ room() {}, left() {} });
  const answers: RunResponse["message"][] = [];
  requests.push({ message: { case: "open", value: { runId: "live" } } }, 1);
  const running = (async () => {
    for await (const { message } of clientOf({ port }).run(requests)) answers.push(message);
  })();
  await until(() => answers.length === 1);
  const inFlight = await started(client, "until", "gate-1");

  const end = ended(sidecar.child);
  sidecar.child.kill("SIGTERM");
  await until(() => statuses.length === 2);
  t.deepEqual(statuses, [Status.SERVING, Status.NOT_SERVING]);

  const execute = { tag: 1n, request: { request: { callId: "late", name: "quick" } } };
  requests.push({ message: { case: "execute", value: execute } }, 1);
  await until(() => answers.length === 2);
  const [, late] = answers;
  if (late?.case !== "event" || late.value.event.case !== "fault") return t.fail();
  t.regex(late.value.event.value.message, /shutting down/u);

  const another = connect({ address: sidecar.ready.address });
  const refused = await t.throwsAsync(another.execute({ name: "quick" }).result);
  t.like(refused, { code: "UNREACHABLE", started: "no" });
  another.close();

  open("gate-1");
  t.is((await inFlight.result).result, "there");
  t.is(await end, 0);
  await Promise.allSettled([watching, running]);
});

test("what is left when the grace has passed is aborted, and a tool that is deaf to it holds nothing up", async (t) => {
  const { sidecar, client } = await serve(t, ["--drain-grace-ms", "100"]);
  const calls = [await started(client, "until", "a"), await started(client, "deaf", "b")];
  t.is(await sidecar.stop(), 0);
  for (const call of calls) {
    const fault = await t.throwsAsync(call.result);
    t.like(fault, { code: "DRAINING", started: "yes" });
  }
  t.regex(sidecar.output().stderr, /until was aborted/u);
});

for (const lost of [false, true]) {
  test(`a tool that does nothing but write ${lost ? "to nobody " : ""}holds up neither others nor the shutdown`, async (t) => {
    const args = ["--journal", "memory", "--drain-grace-ms", "100"];
    const { sidecar, client, port } = await serve(t, args);
    const wire = await layWire(port);
    const reader = connect({ address: wire.address });
    t.teardown(() => reader.close());
    const key = { runId: "r", callId: "f" };
    const flood = reader.execute({ name: "flood", ...key }, { onDisconnect: "continue" });
    const first = await flood[Symbol.asyncIterator]().next();
    t.is(first.value?.case, "output");
    if (lost) wire.cut();
    t.is((await client.execute({ name: "quick" }).result).result, "done");
    t.is(await sidecar.stop(), 0);
    wire.cut();
  });
}

test("what was aborted by a drain is INDETERMINATE to whoever asks the next sidecar", async (t) => {
  const args = ["--journal", path("drain.db"), "--drain-grace-ms", "100"];
  const first = await serve(t, args);
  const call = await started(first.client, "deaf", "c");
  const quick = { name: "quick", runId: "r", callId: "q" };
  await first.client.execute(quick).result;
  t.is(await first.sidecar.stop(), 0);
  await t.throwsAsync(call.result);
  const { sidecar, client } = await serve(t, args);
  const asked = { name: "deaf", arguments: { path: path("c") }, runId: "r", callId: "c" };
  t.regex((await client.execute(asked).result).error ?? "", /^Indeterminate: /u);
  t.like(await client.execute(quick).result, { result: "done", replayed: true });
  t.is(await sidecar.stop(), 0);
});

test("a second SIGTERM ends it at once, with 1", async (t) => {
  const { sidecar, client } = await serve(t, ["--drain-grace-ms", "60000"]);
  const call = await started(client, "deaf", "d");
  const end = ended(sidecar.child);
  sidecar.child.kill("SIGTERM");
  await until(() => sidecar.output().stderr.includes("draining"));
  sidecar.child.kill("SIGTERM");
  t.is(await end, 1);
  const lost = await call.result.catch((error: unknown) => error);
  t.true(isToolPortError(lost) && lost.started !== "no");
});

test("connections that are idle don't hold the shutdown up", async (t) => {
  const { sidecar, port } = await serve(t, ["--drain-grace-ms", "60000"]);
  const silent = connectSocket(port, "127.0.0.1");
  const http2 = connectHttp2(`http://127.0.0.1:${port}`);
  const closed: string[] = [];
  silent.on("close", () => closed.push("silent")).on("error", () => {});
  http2.on("close", () => closed.push("http2")).on("error", () => {});
  await new Promise((resolve) => http2.once("remoteSettings", resolve));
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const http1 = await new Promise<Socket>((resolve) => {
    const asking = request({ port, host: "127.0.0.1", path: "/", agent }, (response) => {
      const { socket } = response;
      response.resume().once("end", () => resolve(socket));
    });
    asking.end();
  });
  http1.on("close", () => closed.push("http1")).on("error", () => {});
  t.is(await sidecar.stop(), 0);
  await until(() => closed.length === 3);
  t.deepEqual(closed.toSorted(), ["http1", "http2", "silent"]);
});

test("a call that lost its connection and goes on is waited for, and its outcome kept", async (t) => {
  const args = ["--journal", path("continue.db"), "--drain-grace-ms", "60000"];
  const { sidecar, port } = await serve(t, args);
  const wire = await layWire(port);
  const client = connect({ address: wire.address });
  const asked = { name: "until", arguments: { path: path("gate-2") }, runId: "r", callId: "c" };
  const execution = client.execute(asked, { onDisconnect: "continue" });
  const first = await execution[Symbol.asyncIterator]().next();
  t.is(first.value?.case, "output");
  wire.cut();
  t.like(await t.throwsAsync(execution.result), { code: "UNREACHABLE", started: "unknown" });
  client.close();
  const end = ended(sidecar.child);
  sidecar.child.kill("SIGTERM");
  await until(() => sidecar.output().stderr.includes("draining"));
  open("gate-2");
  t.is(await end, 0);
  t.notRegex(sidecar.output().stderr, /until was aborted/u);
  const next = await serve(t, args);
  t.like(await next.client.execute(asked).result, { result: "there", replayed: true });
  await next.sidecar.stop();
});

test("a sidecar on a socket takes its file away", async (t) => {
  const socket = path("gone.sock");
  const sidecar = await place.serve([tools, "--address", `unix:${socket}`]);
  t.true(existsSync(socket));
  t.is(await sidecar.stop(), 0);
  t.false(existsSync(socket));
});
