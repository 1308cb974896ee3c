import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { connect } from "node:net";
import test from "ava";
import { ToolPortService } from "../../src/wire/v1.ts";
import { callTool, clientOf, folder, startServer, until } from "./world.ts";

const echo = { echo: { execute: (args: unknown) => args } };

function unixClient(path: string): ReturnType<typeof createClient<typeof ToolPortService>> {
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect({ path }) },
  });
  return createClient(ToolPortService, transport);
}

test("a unix socket is its owner's alone, serves, and is gone when the server is", async (t) => {
  const path = join(folder(t), "s");
  const before = process.umask();
  const { server } = await startServer(t, echo, {
    address: `unix:${path}`,
    allowUnauthenticated: false,
  });
  t.is(process.umask(), before);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(server.address, `unix:${path}`);
  t.is((await callTool(unixClient(path), "echo")).result, "{}");
  await server.close(0);
  t.false(existsSync(path));
});

test("a socket file whose owner was killed is taken over", async (t) => {
  const path = join(folder(t), "s");
  const script = `require("node:net").createServer().listen(process.argv[1], () => console.log("up"))`;
  const child = spawn(process.execPath, ["-e", script, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  t.true(existsSync(path));
  await startServer(t, echo, { address: `unix:${path}` });
  t.is((await callTool(unixClient(path), "echo")).result, "{}");
});

test("a socket that somebody listens at is not stolen", async (t) => {
  const path = join(folder(t), "s");
  await startServer(t, echo, { address: `unix:${path}` });
  await t.throwsAsync(startServer(t, echo, { address: `unix:${path}` }), {
    code: "CONFIGURATION",
    message: `another process is listening at ${path}; end it or choose another path`,
  });
  t.is((await callTool(unixClient(path), "echo")).result, "{}");
});

test("a file that is no socket is left alone", async (t) => {
  const path = join(folder(t), "s");
  writeFileSync(path, "precious");
  await t.throwsAsync(startServer(t, echo, { address: `unix:${path}` }), {
    message: /is no socket; it was left alone/u,
  });
  t.is(readFileSync(path, "utf8"), "precious");
});

test("a folder that does not exist is named", async (t) => {
  await t.throwsAsync(startServer(t, echo, { address: `unix:${folder(t)}/none/s` }), {
    code: "CONFIGURATION",
    message: /folder of unix:\S+ does not exist/u,
  });
});

test("a port in use is named", async (t) => {
  const { server } = await startServer(t, echo);
  await t.throwsAsync(startServer(t, echo, { address: server.address }), {
    code: "CONFIGURATION",
    message: `${server.address} is in use by another process; choose another port, or port 0 to have one picked`,
  });
});

test("a host that this machine doesn't have is named", async (t) => {
  await t.throwsAsync(startServer(t, echo, { address: "192.0.2.1:0" }), {
    code: "CONFIGURATION",
    message: /192\.0\.2\.1:0/u,
  });
});

test("port 0 has one picked, on an IPv6 host too", async (t) => {
  const { port } = await startServer(t, echo);
  t.true(port > 0);
  const probe = createServer().listen(0, "::1");
  const hasIPv6 = await Promise.race([
    once(probe, "listening").then(() => true),
    once(probe, "error").then(() => false),
  ]);
  probe.close();
  if (!hasIPv6) return;
  const { server } = await startServer(t, echo, { address: "[::1]:0" });
  t.regex(server.address, /^\[::1\]:[1-9]\d*$/u);
});

test("TCP without a token is served only where that is asked for by name", async (t) => {
  await t.throwsAsync(startServer(t, echo, { allowUnauthenticated: false }), {
    code: "CONFIGURATION",
    message: /needs a bearer token/u,
  });
  await t.throwsAsync(startServer(t, echo, { tokens: ["short"] }), { message: /at least 16/u });
});

test("closing lets calls in flight end, refuses new ones, and says so in health", async (t) => {
  const gate = Promise.withResolvers<string>();
  let started = 0;
  const running = await startServer(t, {
    wait: {
      execute() {
        started += 1;
        return gate.promise;
      },
    },
  });
  const client = clientOf(running);
  const call = callTool(client, "wait");
  await until(() => started === 1);
  const closed = running.server.close(10_000);
  await t.throwsAsync(callTool(client, "wait"));
  await t.throwsAsync(clientOf(running, "Connect h1").manifest({}));
  gate.resolve("in time");
  t.is((await call).result, "in time");
  await closed;
  t.is(running.server.connections, 0);
  t.is(started, 1);
  await running.server.close();
});

test("closing aborts what outlives the grace, and is bounded whatever tools do", async (t) => {
  let aborted = 0;
  const running = await startServer(t, {
    deaf: {
      execute(_args, { signal }) {
        signal.addEventListener("abort", () => (aborted += 1));
        return new Promise(() => {});
      },
    },
  });
  const idle = connect({ port: running.port });
  idle.on("error", () => {});
  const call = callTool(clientOf(running), "deaf");
  call.catch(() => {});
  await until(() => running.server.connections === 2);
  await until(() => running.logged.length >= 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await running.server.close(50);
  await t.throwsAsync(call);
  t.is(aborted, 1);
  t.is(running.server.connections, 0);
});
