import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import test, { type ExecutionContext } from "ava";

import { mcp } from "../../src/mounts/mcp.ts";
import { ErrorKind } from "../../src/wire/v1.ts";
import { until } from "../field/world.ts";
import { serveStory, type StoryOverHttp } from "./servers/story-http.ts";
import { folder, linesOf, serveMounts } from "./world.ts";

async function open(t: ExecutionContext, era: "older" | "newer", port = 0): Promise<StoryOverHttp> {
  const server = await serveStory(era, port);
  t.teardown(() => server.kill());
  return server;
}

for (const era of ["older", "newer"] as const) {
  test(`a server of the ${era} era is mounted and called over HTTP, with its headers`, async (t) => {
    const { url, headers } = await open(t, era);
    const { names, call, follow } = await serveMounts(t, [
      mcp({ url, headers: { authorization: "Bearer secret" }, prefix: "web_" }),
    ]);
    t.true((await names()).includes("web_echo"));
    t.is((await call("web_echo", '{"text":"hé"}')).result, "hé");
    const { events } = await follow("web_steps");
    t.is(events.filter((event) => event.case === "progress").length, 3);
    t.true(headers.every(({ authorization }) => authorization === "Bearer secret"));
  });

  test.serial(`B52: a call to a server of the ${era} era is cancelled over HTTP`, async (t) => {
    const log = `${folder(t)}/log`;
    process.env["STORY_LOG"] = log;
    t.teardown(() => delete process.env["STORY_LOG"]);
    const { url } = await open(t, era);
    const { client, call } = await serveMounts(t, [mcp({ url })]);
    const asleep = client.execute({ name: "sleep" });
    await until(() => linesOf(log).includes("sleeping"));
    asleep.cancel();
    await t.throwsAsync(asleep.result, { code: "CANCELLED" });
    await until(() => linesOf(log).includes("woken"));
    t.is((await call("echo", '{"text":"on"}')).result, "on");
  });

  test(`B83: a server of the ${era} era that dies over HTTP ends its calls at once`, async (t) => {
    const { url } = await open(t, era);
    const { call } = await serveMounts(t, [mcp({ name: "mortal", url, restart: { delayMs: 10 } })]);
    const sleeping = call("sleep");
    await call("echo", '{"text":"a"}');
    for (const lost of await Promise.all([sleeping, call("die")])) {
      t.is(lost.errorKind, ErrorKind.HOST_LOST);
      t.regex(lost.error ?? "", /^HostLost: the MCP server "mortal" .* during the call$/u);
      t.true(lost.durationMs < 4000);
    }
    const away = await call("echo", '{"text":"b"}');
    t.is(away.errorKind, ErrorKind.HOST_LOST);
    t.regex(away.error ?? "", /"mortal" is gone, and was tried 5 times/u);
  });

  test(`B84: a server of the ${era} era that is back over HTTP is reached again`, async (t) => {
    const first = await open(t, era);
    const { call } = await serveMounts(t, [mcp({ url: first.url })]);
    t.is((await call("echo", '{"text":"a"}')).result, "a");
    await first.kill();
    await open(t, era, first.port);
    t.is((await call("echo", '{"text":"b"}')).result, "b");
    t.is((await call("echo", '{"text":"c"}')).result, "c");
  });

  test(`B18: a server of the ${era} era tells of changed tools over HTTP`, async (t) => {
    const { url } = await open(t, era);
    const { call, names, logged } = await serveMounts(t, [mcp({ url })]);
    const before = await names();
    // In the newer era it is told only once it has been asked to.
    await until(() => {
      void call("change");
      return logged.some(({ event }) => event === "mount_tools_changed");
    });
    t.like(logged.find(({ event }) => event === "mount_tools_changed")?.fields, {
      removed: ["alpha"],
    });
    t.deepEqual(await names(), before);
    t.is((await call("alpha")).error, 'the MCP server "story" no longer offers the tool "alpha"');
  });
}

for (const form of ["json", "stream"] as const) {
  test(`integers beyond 2^53 keep their digits over HTTP, answered as ${form}`, async (t) => {
    const { url, bodies } = await serveDigits(t, form);
    const { call } = await serveMounts(t, [mcp({ url })]);
    const { structuredJson } = await call("find", '{"id":9223372036854775807}');
    t.is(structuredJson, '{"id":9007199254740993}');
    t.true(bodies.some((body) => body.includes('"id":9223372036854775807')));
  });
}

test("a server that can't be reached is a mistake that names it and keeps secrets", async (t) => {
  const server = await open(t, "newer");
  await server.kill();
  const error = await t.throwsAsync(
    serveMounts(t, [mcp({ name: "crm", url: `${server.url}?key=secret` })]),
  );
  t.regex(
    error?.message ?? "",
    /^the MCP server "crm" \(http:\/\/127\.0\.0\.1:\d+\/mcp\) can't be mounted: it can't be reached: connect ECONNREFUSED/u,
  );
  t.notRegex(error?.message ?? "", /secret/u);
});

/** A server of the older era that answers a call with a large integer. */
async function serveDigits(
  t: ExecutionContext,
  form: "json" | "stream",
): Promise<{ readonly url: string; readonly bodies: readonly string[] }> {
  const bodies: string[] = [];
  const results: Readonly<Record<string, string>> = {
    initialize:
      '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}',
    "tools/list":
      '{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"id":{"type":"integer","format":"int64"}}}}]}',
    "tools/call": '{"content":[],"structuredContent":{"id":9007199254740993}}',
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      const { id, method = "" } = JSON.parse(body || "{}") as { id?: number; method?: string };
      const result = results[method];
      if (request.method !== "POST") return response.writeHead(405).end();
      if (id === undefined) return response.writeHead(202).end();
      if (result === undefined) return response.writeHead(400).end();
      const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
      return form === "json"
        ? response.writeHead(200, { "content-type": "application/json" }).end(message)
        : response
            .writeHead(200, { "content-type": "text/event-stream" })
            .end(`event: message\ndata: ${message}\n\n`);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, bodies };
}
