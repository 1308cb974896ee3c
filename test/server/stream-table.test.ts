import { once } from "node:events";
import { connect, createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import test from "ava";
import { replaceStreamTable } from "../../src/server/stream-table.ts";

// This is the one place that knows how Node keeps its streams; the tests tell when it no longer does.

test("a new session's table is replaced, and its streams are served and destroyed as before", async (t) => {
  const server = createServer();
  let session: ServerHttp2Session | undefined;
  let answers = 0;
  server.on("session", (one) => {
    session = one;
    t.true(replaceStreamTable(one));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    if (headers[":path"] === "/stay") return;
    stream.respond({ ":status": 200 }, { endStream: true });
    answers += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect(`http://127.0.0.1:${port}`);
  client.on("error", () => {});

  for (let n = 0; n < 50; n += 1) {
    const stream = client.request({ ":path": "/" });
    stream.resume();
    await once(stream, "close");
  }
  const staying = [1, 2, 3].map(() => client.request({ ":path": "/stay", ":method": "POST" }));
  for (const stream of staying) stream.on("error", () => {});
  const closed = Promise.all(staying.map((stream) => once(stream, "close")));
  await new Promise((resolve) => client.ping(resolve));
  t.is(answers, 50);
  // Once it is in use it stays.
  t.false(session && replaceStreamTable(session));
  session?.destroy();
  await closed;
  client.close();
  await new Promise((resolve) => server.close(resolve));
});

test("a session that keeps its streams in another way is left alone", (t) => {
  for (const session of [{}, { [Symbol("state")]: undefined }, { [Symbol("state")]: {} }]) {
    t.false(replaceStreamTable(session as unknown as ServerHttp2Session));
  }
  const other = { [Symbol("state")]: { streams: [] } };
  t.false(replaceStreamTable(other as unknown as ServerHttp2Session));
});
