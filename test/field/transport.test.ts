import * as grpc from "@grpc/grpc-js";
import { Code, ConnectError } from "@connectrpc/connect";
import test from "ava";
import { z } from "zod";
import { connect } from "../../src/client/index.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { ErrorKind, ToolPortService } from "../../src/wire/v1.ts";
import { callTool, clientOf, protocols } from "../server/world.ts";
import { serveField } from "./world.ts";

const mebibyte = 2 ** 20;

const sized = [
  defineTool({
    name: "make",
    description: "Makes a text",
    parameters: z.object({ size: z.number(), filler: z.string().default("") }),
    execute: ({ size, filler }) => "x".repeat(size) + String(filler.length),
  }),
];

for (const protocol of protocols) {
  test(`B75 a result of 8 MiB and an argument of 6 MiB pass over ${protocol}`, async (t) => {
    const client = clientOf(await serveField(t, { tools: sized }), protocol);
    const result = await callTool(client, "make", `{"size":${8 * mebibyte}}`);
    t.is(result.result?.length, 8 * mebibyte + 1);
    const filler = "y".repeat(6 * mebibyte);
    const argument = await callTool(client, "make", JSON.stringify({ size: 0, filler }));
    t.is(argument.result, String(6 * mebibyte));
  });
}

test("B75 the shipped client takes large messages as it comes, and a manifest of 2,000 tools", async (t) => {
  const many = Array.from({ length: 2000 }, (_, index) =>
    defineTool({ name: `tool_${index}`, description: "d".repeat(3000), execute: () => "" }),
  );
  const { client } = await serveField(t, { tools: [...sized, ...many] });
  t.is((await client.manifest()).tools.length, 2001);
  const call = { name: "make", arguments: { size: 8 * mebibyte } };
  t.is((await client.execute(call).result).result?.length, 8 * mebibyte + 1);
});

test("B75 above the limit the call says so by name, and the connection goes on", async (t) => {
  const limits = { maxMessageBytes: mebibyte };
  const field = await serveField(t, { tools: sized }, { limits });
  const client = clientOf(field);
  const tooLarge = await callTool(client, "make", `{"size":${2 * mebibyte}}`);
  t.is(tooLarge.errorKind, ErrorKind.RESULT_TOO_LARGE);
  t.regex(tooLarge.error ?? "", /1048576|\d{6,} bytes/u);
  const filler = "y".repeat(2 * mebibyte);
  const refused = await t.throwsAsync(
    callTool(client, "make", JSON.stringify({ size: 0, filler })),
  );
  t.regex(ConnectError.from(refused).message, /1048576/u);
  t.is((await callTool(client, "make", '{"size":1}')).result, "x0");
});

test("B76 a client that pings often on an idle connection is not thrown off", async (t) => {
  const field = await serveField(t, { tools: sized });
  const path = `/${ToolPortService.typeName}/Manifest`;
  // The shortest that grpc-js allows; the shipped clients ping every 10 s or more.
  const client = new grpc.Client(field.address, grpc.credentials.createInsecure(), {
    "grpc.keepalive_time_ms": 1000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.keepalive_permit_without_calls": 1,
  });
  t.teardown(() => client.close());
  const ask = async (): Promise<Buffer> =>
    await new Promise((resolve, reject) => {
      const same = (bytes: Buffer): Buffer => bytes;
      client.makeUnaryRequest(path, same, same, Buffer.alloc(0), (error, answer) => {
        if (error) reject(error);
        else resolve(answer ?? Buffer.alloc(0));
      });
    });
  t.true((await ask()).byteLength > 0);
  const states: grpc.connectivityState[] = [];
  const ready = client.getChannel().getConnectivityState(false);
  client.getChannel().watchConnectivityState(ready, Date.now() + 6000, (error) => {
    if (!error) states.push(client.getChannel().getConnectivityState(false));
  });
  await new Promise((resolve) => setTimeout(resolve, 6000));
  t.deepEqual(states, []);
  t.true((await ask()).byteLength > 0);
});

const awkward = "échec – 失敗 100%\nligne 2";

for (const protocol of protocols) {
  test(`B78 an error's text arrives as it was written over ${protocol}`, async (t) => {
    const tools = [
      defineTool({
        name: "fail",
        description: "d",
        execute() {
          throw new Error(awkward);
        },
      }),
    ];
    const client = clientOf(await serveField(t, { tools }), protocol);
    t.is((await callTool(client, "fail")).error, `Error: ${awkward}`);
    const refused = await client.refuse({
      request: { callId: "1", name: "fail" },
      reason: awkward,
    });
    t.is(refused.call?.error, awkward);
    // The fault quotes what it was given, so its status carries the text too.
    const expectedDigest = awkward;
    const fault = await t.throwsAsync(async () => {
      for await (const event of client.execute({
        request: { callId: "1", name: "fail" },
        expectedDigest,
      })) {
        t.fail(event.event.case);
      }
    });
    t.true(ConnectError.from(fault).rawMessage.includes(awkward), fault?.message);
  });
}

test("B78 an error's text arrives as it was written at the shipped client", async (t) => {
  const tools = [
    defineTool({
      name: "fail",
      description: "d",
      execute() {
        throw new Error(awkward);
      },
    }),
  ];
  const { call, client } = await serveField(t, { tools });
  t.is((await call("fail")).error, `Error: ${awkward}`);
  const fault = await t.throwsAsync(
    client.execute({ name: "fail" }, { expectedDigest: awkward }).result,
  );
  t.true(fault?.message.includes(awkward), fault?.message);
});

const token = "a-token-that-is-long-enough";

for (const protocol of protocols) {
  test(`B80 without a valid token no tool and no stage runs over ${protocol}`, async (t) => {
    let ran = 0;
    const touch = (): null => {
      ran += 1;
      return null;
    };
    const tools = [defineTool({ name: "touch", description: "d", execute: touch })];
    const stages = [{ name: "s", select: touch }];
    const field = await serveField(t, { tools, stages }, { tokens: [token] });
    for (const authorization of [undefined, "Bearer wrong-token", `Basic ${token}`]) {
      const headers = authorization === undefined ? {} : { authorization };
      const client = clientOf(field, protocol, headers);
      const asks: readonly (() => Promise<unknown>)[] = [
        async () => await client.manifest({}),
        async () => await client.select({}),
        async () => await client.refuse({ request: { callId: "1", name: "touch" } }),
        async () => await callTool(client, "touch"),
      ];
      for (const ask of asks) {
        const { code, message } = ConnectError.from(await t.throwsAsync(ask()));
        t.is(code, Code.Unauthenticated);
        t.notRegex(message, /a-token|wrong-token|\.ts|node:/u);
      }
    }
    t.is(ran, 0);
    const client = clientOf(field, protocol, { authorization: `Bearer ${token}` });
    t.is((await callTool(client, "touch")).result, "null");
    await client.select({});
    t.is(ran, 2);
  });
}

test("B80 the shipped client is let in with the token, and told without it", async (t) => {
  const tools = [defineTool({ name: "touch", description: "d", execute: () => "touched" })];
  const field = await serveField(t, { tools }, { tokens: [token] });
  t.is((await field.call("touch")).result, "touched");
  const stranger = connect({ address: field.address, token: "wrong" });
  t.teardown(() => stranger.close());
  const execution = stranger.execute({ name: "touch" });
  await t.throwsAsync(execution.result, { code: "UNAUTHENTICATED" });
  await t.throwsAsync(stranger.manifest(), { code: "UNAUTHENTICATED" });
});
