import { connect as connectH2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import test, { type ExecutionContext } from "ava";
import { ErrorInfoSchema } from "../../src/wire/v1.ts";
import { callTool, clientOf, protocols, startServer, type TestServer, until } from "./world.ts";

const path = "/toolport.v1.ToolPortService";

/** Sends bytes over a connection of its own, and gives all that comes back until it is closed. */
function talk({ port }: TestServer, ...parts: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
    void send(socket, parts);
  });
}

async function send(socket: Socket, parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface H2Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
}

/** One gRPC request as any bytes, over a connection of its own. */
function grpc(
  { port }: TestServer,
  method: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const session = connectH2(`http://127.0.0.1:${port}`);
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": `${path}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    let answered: Readonly<Record<string, unknown>> = {};
    let trailers: Readonly<Record<string, unknown>> = {};
    stream.on("response", (got) => (answered = got));
    stream.on("trailers", (got) => (trailers = got));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status: Number(answered[":status"]), headers: answered, trailers });
    });
    stream.resume();
    stream.end(body);
  });
}

function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
}

function reasonOf(thrown: unknown): string | undefined {
  return ConnectError.from(thrown).findDetails(ErrorInfoSchema)[0]?.reason;
}

async function stillServes(t: ExecutionContext, server: TestServer): Promise<void> {
  t.is((await callTool(clientOf(server), "echo", "[]".replace("[]", "{}"))).result, "{}");
}

const echo = { echo: { execute: (args: unknown) => args } };

for (const authority of ["a%2Fb", "%2Ftmp%2Fsock", "[", "a b", "", "a:99999", "\u0080"]) {
  test(`an authority of ${JSON.stringify(authority)} hurts nobody`, async (t) => {
    const server = await startServer(t, echo);
    // Some are no HTTP/2 at all, and end their stream before anybody reads them.
    const answer = await grpc(server, "Manifest", Buffer.alloc(5), {
      ":authority": authority,
    }).catch((error: NodeJS.ErrnoException) => error);
    if (answer instanceof Error) t.is(answer.code, "ERR_HTTP2_STREAM_ERROR");
    else t.is(answer.trailers["grpc-status"], "0");
    const answer1 = await talk(
      server,
      `POST ${path}/Manifest HTTP/1.1\r\nhost: ${authority}\r\ncontent-type: application/json\r\n` +
        `content-length: 2\r\nconnection: close\r\n\r\n{}`,
    );
    t.regex(answer1, /^HTTP\/1\.1 (?:200|400) /u);
    await stillServes(t, server);
  });
}

test("a connection whose first bytes come one by one is served, over both versions of HTTP", async (t) => {
  const server = await startServer(t, echo);
  const text =
    `POST ${path}/Manifest HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
    `content-length: 2\r\nconnection: close\r\n\r\n{}`;
  const answer = await talk(server, ...text.slice(0, 8).split(""), text.slice(8));
  t.regex(answer, /^HTTP\/1\.1 200 /u);
  t.regex(answer, /"digest":"sha256:set"/u);

  const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const goaway = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const frames = await talk(
    server,
    ...preface.slice(0, 6).split(""),
    preface.slice(6),
    settings,
    goaway,
  );
  t.is(frames.charCodeAt(3), 4, "the server's settings come first");
});

test("garbage instead of HTTP is answered 400 and closed", async (t) => {
  const server = await startServer(t, echo);
  t.regex(await talk(server, "\u0000\u0001\u0002 garbage\r\n\r\n"), /^HTTP\/1\.1 400 /u);
  t.regex(await talk(server, "PRIVATE / HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 400 /u);
  await stillServes(t, server);
});

test("a peer that says nothing, or never ends its headers, is closed after the bound", async (t) => {
  const server = await startServer(t, echo, { limits: { handshakeMs: 100 } });
  t.is(await talk(server), "");
  t.is(await talk(server, "PRI * HT"), "");
  t.regex(await talk(server, "GET / HTTP/1.1\r\nx: "), /^(?:HTTP\/1\.1 408 |$)/u);
  await until(() => server.server.connections === 0);
  t.pass();
});

test("headers over the limit are answered 431 over HTTP/1.1 and refused over HTTP/2", async (t) => {
  const server = await startServer(t, echo, { limits: { headerBytes: 8192 } });
  const big = "x".repeat(20_000);
  t.regex(
    await talk(server, `GET / HTTP/1.1\r\nhost: x\r\nbig: ${big}\r\n\r\n`),
    /^HTTP\/1\.1 431 /u,
  );
  await t.throwsAsync(grpc(server, "Manifest", Buffer.alloc(5), { big: "y".repeat(100_000) }));
  await stillServes(t, server);
});

test("a wrong path, method or content type is answered in the protocol that was spoken", async (t) => {
  const server = await startServer(t, echo);
  const base = `http://127.0.0.1:${server.port}`;
  t.is((await fetch(`${base}/nowhere`)).status, 404);
  t.is((await fetch(`${base}${path}/Execute`)).status, 405);
  const post = await fetch(`${base}${path}/Manifest`, { method: "POST", body: "x" });
  t.is(post.status, 415);
  const missing = await grpc(server, "Nothing", Buffer.alloc(5));
  t.is(missing.status, 200);
  t.is(missing.headers["grpc-status"], String(Code.Unimplemented));
  await stillServes(t, server);
});

test("bytes that are no message are the fault MESSAGE_UNPARSABLE in every protocol", async (t) => {
  const server = await startServer(t, echo);
  for (const method of ["Manifest", "Select", "Execute", "Refuse"]) {
    const { trailers } = await grpc(server, method, frame(Buffer.from([0xff, 0xff, 0xff])));
    t.is(trailers["grpc-status"], String(Code.InvalidArgument), method);
    const details = Buffer.from(String(trailers["grpc-status-details-bin"]), "base64");
    t.true(details.includes("MESSAGE_UNPARSABLE"), method);
  }
  const base = `http://127.0.0.1:${server.port}${path}`;
  for (const [type, body] of [
    ["application/json", "{"],
    ["application/json", '{"names":7}'],
    ["application/proto", "\u00ff\u00ff"],
  ] as const) {
    const answer = await fetch(`${base}/Manifest`, {
      method: "POST",
      headers: { "content-type": type },
      body,
    });
    t.is(answer.status, 400, body);
    const error = (await answer.json()) as { details: { debug: { reason: string } }[] };
    t.is(error.details[0]?.debug.reason, "MESSAGE_UNPARSABLE", body);
  }
  const get = await fetch(`${base}/Manifest?encoding=proto&base64=1&message=%25%25`);
  t.is(get.status, 400);
  await stillServes(t, server);
});

test("a small message that inflates beyond the limit is refused without being inflated whole", async (t) => {
  const server = await startServer(t, echo, { limits: { messageBytes: 1 << 20 } });
  const bomb = gzipSync(Buffer.alloc(64 << 20));
  const { trailers } = await grpc(server, "Execute", frame(bomb, 1), { "grpc-encoding": "gzip" });
  t.is(trailers["grpc-status"], String(Code.ResourceExhausted));
  const details = Buffer.from(String(trailers["grpc-status-details-bin"]), "base64");
  t.true(details.includes("MESSAGE_TOO_LARGE"));
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}/Manifest`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
    body: new Uint8Array(bomb),
  });
  t.is(answer.status, 429);
  await stillServes(t, server);
});

test("a message that announces more than the limit is refused before it is read", async (t) => {
  const server = await startServer(t, echo, { limits: { messageBytes: 1 << 20 } });
  const head = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]);
  const { trailers } = await grpc(server, "Execute", head);
  t.is(trailers["grpc-status"], String(Code.ResourceExhausted));
});

for (const protocol of protocols) {
  test(`names off Object.prototype are unknown tools like any other over ${protocol}`, async (t) => {
    const server = await startServer(t, echo);
    const client = clientOf(server, protocol);
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      t.is((await callTool(client, name)).error, `unknown tool '${name}'`);
      const { result } = await client.select({ candidates: { names: [name] } });
      t.deepEqual(result?.tools, []);
    }
    const request = { callId: "m", name: "echo" };
    const metadata = Object.assign(Object.create(null) as Record<string, string>, {
      constructor: "a",
    });
    for await (const { event } of client.execute({ request, metadata })) {
      t.is(event.case, "call");
    }
  });
}

test("metadata reaches the tool with every key that was sent, __proto__ too", async (t) => {
  let seen: readonly (readonly [string, string])[] = [];
  const server = await startServer(t, {
    look: {
      execute(_args, { metadata }) {
        seen = Object.entries(metadata);
        return "";
      },
    },
  });
  const body = Buffer.from('{"request":{"callId":"1","name":"look"},"metadata":{"__proto__":"x"}}');
  await fetch(`http://127.0.0.1:${server.port}${path}/Execute`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: new Uint8Array(frame(body)),
  }).then((answer) => answer.arrayBuffer());
  t.deepEqual(seen, [["__proto__", "x"]]);
});

for (const [what, headers, bodyMs, status] of [
  ["its deadline", { "grpc-timeout": "20m" }, 60_000, Code.DeadlineExceeded],
  ["the server's bound", {}, 100, Code.InvalidArgument],
] as const) {
  test(`a request whose message never comes is ended by ${what}`, async (t) => {
    const server = await startServer(t, echo, { limits: { bodyMs } });
    const client = connectH2(`http://127.0.0.1:${server.port}`);
    t.teardown(() => client.destroy());
    const stream = client.request({
      ":method": "POST",
      ":path": `${path}/Execute`,
      "content-type": "application/grpc",
      ...headers,
    });
    stream.on("error", () => {});
    const trailers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => {
      stream.on("trailers", resolve);
    });
    t.is(trailers["grpc-status"], String(status));
  });
}

test("a peer that resets streams as fast as it can hurts nobody else", async (t) => {
  const server = await startServer(t, echo);
  const client = connectH2(`http://127.0.0.1:${server.port}`);
  client.on("error", () => {});
  for (let count = 0; count < 2000 && !client.destroyed && !client.closed; count += 1) {
    const stream = client.request({
      ":method": "POST",
      ":path": `${path}/Execute`,
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.close(constants.NGHTTP2_CANCEL);
    if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await stillServes(t, server);
  client.destroy();
});

test("callers that never read are paused, one by one, and leave when they close", async (t) => {
  let emitted = 0;
  const server = await startServer(t, {
    ...echo,
    flood: {
      async *execute(_args, { signal }) {
        while (!signal.aborted) {
          emitted += 1;
          yield "x".repeat(10_000);
        }
      },
    },
  });
  const client = connectH2(`http://127.0.0.1:${server.port}`);
  client.on("error", () => {});
  const message = Buffer.from("\u000a\u000a\u0012\u0001f\u001a\u0005flood", "latin1");
  for (let count = 0; count < 20; count += 1) {
    const stream = client.request({
      ":method": "POST",
      ":path": `${path}/Execute`,
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.end(frame(message));
  }
  await until(() => emitted > 20);
  let before = -1;
  while (before !== emitted) {
    before = emitted;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  t.true(emitted < 20 * 200, `${emitted} outputs were made for readers that never read`);
  await stillServes(t, server);
  client.destroy();
  await until(() => server.server.connections <= 1);
});

test("nothing of all this is logged as an error", async (t) => {
  const server = await startServer(t, echo);
  await talk(server, "\u0000");
  await grpc(server, "Execute", frame(Buffer.from([0xff])));
  const client = connectH2(`http://127.0.0.1:${server.port}`);
  client.on("error", () => {});
  const stream = client.request({
    ":method": "POST",
    ":path": `${path}/Run`,
    "content-type": "application/grpc",
  });
  stream.on("error", () => {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.destroy();
  await until(() => server.server.connections === 0);
  t.deepEqual(
    server.logged.filter(({ level }) => level === "error" || level === "warn"),
    [],
  );
  t.is(reasonOf(new Error("x")), undefined);
});
