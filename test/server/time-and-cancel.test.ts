import { connect as connectH2 } from "node:http2";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import test, { type ExecutionContext } from "ava";
import type { ToolContext } from "../../src/domain/tool.ts";
import { ErrorInfoSchema } from "../../src/wire/v1.ts";
import { callTool, clientOf, protocols, startServer, type TestServer, until } from "./world.ts";

interface Watched {
  readonly server: TestServer;
  started: number;
  aborted: number;
}

/** A server with a tool that never ends, whatever its signal says. */
async function deaf(t: ExecutionContext): Promise<Watched> {
  const watched = {
    started: 0,
    aborted: 0,
    server: await startServer(t, {
      deaf: {
        execute(_args, { signal }: ToolContext) {
          watched.started += 1;
          signal.addEventListener("abort", () => (watched.aborted += 1));
          return new Promise(() => {});
        },
      },
      quick: { execute: () => "done" },
    }),
  };
  return watched;
}

function infoOf(thrown: unknown): readonly [Code, string | undefined, string | undefined] {
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema)[0];
  return [error.code, info?.reason, info?.metadata["started"]];
}

function detailsOf(trailers: Readonly<Record<string, unknown>>): string {
  const details = trailers["grpc-status-details-bin"];
  return typeof details === "string" ? Buffer.from(details, "base64").toString("latin1") : "";
}

/** Sends Execute with a `grpc-timeout` of any spelling, and gives what it ended with. */
async function withTimeout(
  { server }: Watched,
  timeout: string,
  name: string,
): Promise<readonly [string, string]> {
  const session = connectH2(`http://127.0.0.1:${server.port}`);
  const stream = session.request({
    ":method": "POST",
    ":path": "/toolport.v1.ToolPortService/Execute",
    "content-type": "application/grpc+json",
    "grpc-timeout": timeout,
  });
  const body = Buffer.from(JSON.stringify({ request: { callId: "1", name } }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.byteLength, 1);
  stream.resume();
  stream.end(Buffer.concat([head, body]));
  const trailers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => {
    stream.on("trailers", resolve);
  });
  session.destroy();
  return [String(trailers["grpc-status"]), detailsOf(trailers)];
}

for (const protocol of protocols) {
  test(`a tool that ignores its signal does not hold the RPC beyond its deadline over ${protocol}`, async (t) => {
    const watched = await deaf(t);
    const client = clientOf(watched.server, protocol);
    const thrown = await t.throwsAsync(callTool(client, "deaf", "{}", { timeoutMs: 100 }));
    t.is(ConnectError.from(thrown).code, Code.DeadlineExceeded);
    await until(() => watched.aborted === 1);
    t.is(watched.started, 1);
  });

  test(`a cancel reaches the tool over ${protocol}`, async (t) => {
    const watched = await deaf(t);
    const cancel = new AbortController();
    const call = callTool(clientOf(watched.server, protocol), "deaf", "{}", {
      signal: cancel.signal,
    });
    await until(() => watched.started === 1);
    cancel.abort();
    await t.throwsAsync(call);
    await until(() => watched.aborted === 1);
    t.deepEqual(
      watched.server.logged.filter(({ level }) => level === "error"),
      [],
    );
  });
}

test("a deadline that has passed is answered before the tool starts", async (t) => {
  const watched = await deaf(t);
  for (const timeout of ["0m", "0S", "0n"]) {
    const [status, details] = await withTimeout(watched, timeout, "quick");
    t.is(status, String(Code.DeadlineExceeded));
    t.regex(details, /DEADLINE_EXCEEDED[^]*started[^]*no/u);
  }
  t.is(watched.started, 0);
});

test("a deadline longer than a timer can wait is no deadline for now", async (t) => {
  const watched = await deaf(t);
  for (const timeout of ["99999999H", "3000000S", "99999999S"]) {
    t.is((await withTimeout(watched, timeout, "quick"))[0], "0");
  }
});

test("a deadline that can't be read is named, and nothing starts", async (t) => {
  const watched = await deaf(t);
  for (const timeout of ["1", "-1S", "123456789S", "1 S", "0x1S"]) {
    const [status, details] = await withTimeout(watched, timeout, "deaf");
    t.is(status, String(Code.InvalidArgument));
    t.regex(details, /grpc-timeout[^]*REQUEST_INVALID/u);
  }
  t.is(watched.started, 0);
});

test("Select ends at its deadline while a stage of the adopter's hangs", async (t) => {
  const server = await startServer(
    t,
    {},
    { selection: { stages: [{ name: "hangs", select: () => new Promise<null>(() => {}) }] } },
  );
  const thrown = await t.throwsAsync(clientOf(server).select({}, { timeoutMs: 100 }));
  t.is(ConnectError.from(thrown).code, Code.DeadlineExceeded);
});

test("a lost connection aborts its calls, and no others", async (t) => {
  const watched = await deaf(t);
  const other = new AbortController();
  const kept = callTool(clientOf(watched.server), "deaf", "{}", { signal: other.signal });
  kept.catch(() => {});
  await until(() => watched.started === 1);
  const body = JSON.stringify({ request: { callId: "1", name: "deaf" } });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  const socket = connect({ port: watched.server.port });
  socket.on("error", () => {});
  socket.write(
    "POST /toolport.v1.ToolPortService/Execute HTTP/1.1\r\nhost: x\r\n" +
      `content-type: application/connect+json\r\ncontent-length: ${body.length + 5}\r\n\r\n`,
  );
  socket.write(head);
  socket.write(body);
  await until(() => watched.started === 2);
  t.is(watched.aborted, 0);
  socket.destroy();
  await until(() => watched.aborted === 1);
  other.abort();
  await until(() => watched.aborted === 2);
  t.pass();
});

test("a cancel and a lost connection are told apart over HTTP/2", async (t) => {
  const causes: string[] = [];
  const server = await startServer(
    t,
    {},
    {
      executor: {
        inFlight: 0,
        drain: () => Promise.resolve(),
        execute: (_request, caller) => {
          caller.event({ kind: "text", text: "started" });
          return { leave: (cause) => causes.push(cause), resume() {} };
        },
      },
    },
  );
  const session = connectH2(`http://127.0.0.1:${server.port}`);
  session.on("error", () => {});
  const open = async (): Promise<ReturnType<typeof session.request>> => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/toolport.v1.ToolPortService/Execute",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.end(Buffer.from("\0\0\0\0\x08\x0a\x06\x12\x01a\x1a\x01b", "latin1"));
    await new Promise((resolve) => stream.once("data", resolve));
    return stream;
  };
  (await open()).close(8);
  await until(() => causes.length > 0);
  t.is(causes[0], "cancelled");
  causes.length = 0;
  await open();
  session.destroy();
  await until(() => causes.length > 0);
  t.is(causes[0], "disconnected");
});

test("what comes after the deadline is said to have started", async (t) => {
  const watched = await deaf(t);
  const [status, details] = await withTimeout(watched, "50m", "deaf");
  t.is(status, String(Code.DeadlineExceeded));
  t.regex(details, /started[^]*yes/u);
  t.is(infoOf(new Error("x"))[1], undefined);
});
