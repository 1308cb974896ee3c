import { Code, ConnectError } from "@connectrpc/connect";
import test from "ava";
import { ErrorInfoSchema, ErrorKind } from "../../src/wire/v1.ts";
import { callTool, clientOf, protocols, startServer } from "./world.ts";
import { registryOf } from "../execution/world.ts";

const big = 6 << 20;

for (const protocol of protocols) {
  test(`arguments and results of many megabytes pass whole over ${protocol}`, async (t) => {
    const server = await startServer(t, {
      grow: { execute: (args) => (args as { text: string }).text + "y".repeat(big) },
    });
    const client = clientOf(server, protocol);
    const argumentsJson = JSON.stringify({ text: "é".repeat(big / 2) });
    const call = await callTool(client, "grow", argumentsJson);
    t.is(call.argumentsJson, argumentsJson);
    t.is(call.result, "é".repeat(big / 2) + "y".repeat(big));
  });

  test(`what is over the limit is said so, and the connection goes on over ${protocol}`, async (t) => {
    const limit = 1 << 20;
    const server = await startServer(
      t,
      {
        make: { execute: (args) => "x".repeat((args as { size: number }).size) },
        spout: {
          *execute() {
            yield "x".repeat(2 * limit);
            return "done";
          },
        },
      },
      { limits: { messageBytes: limit } },
    );
    const client = clientOf(server, protocol);
    t.is((await callTool(client, "make", '{"size":900000}')).result?.length, 900_000);

    const tooLarge = await callTool(client, "make", '{"size":1100000}');
    t.is(tooLarge.errorKind, ErrorKind.RESULT_TOO_LARGE);
    t.regex(tooLarge.error ?? "", /^ResultTooLarge: the answer has 11\d{5} bytes.*1048576 bytes$/u);

    const asked = await t.throwsAsync(callTool(client, "make", `{"x":"${"x".repeat(1_200_000)}"}`));
    t.is(ConnectError.from(asked).code, Code.ResourceExhausted);
    const near = await t.throwsAsync(
      callTool(client, "make", `{"x":"${"x".repeat(limit - 6000)}"}`),
    );
    t.is(ConnectError.from(near).code, Code.ResourceExhausted);
    t.is(ConnectError.from(near).findDetails(ErrorInfoSchema)[0]?.metadata["started"], "no");

    const spouted = await t.throwsAsync(callTool(client, "spout"));
    const info = ConnectError.from(spouted).findDetails(ErrorInfoSchema)[0];
    t.is(info?.reason, "MESSAGE_TOO_LARGE");
    t.is(info?.metadata["started"], "yes");

    t.is((await callTool(client, "make", '{"size":1}')).result, "x");
  });
}

test("a result over the limit comes in parts where the client takes them", async (t) => {
  const limit = 1 << 20;
  const text = "é–失🚀".repeat(400_000);
  const server = await startServer(
    t,
    { make: { execute: () => text }, object: { execute: () => ({ text }) } },
    { limits: { messageBytes: limit } },
  );
  for (const [name, whole] of [
    ["make", text],
    ["object", JSON.stringify({ text })],
  ] as const) {
    const parts: Uint8Array[] = [];
    const request = { callId: "1", name };
    for await (const { event } of clientOf(server).execute({ request, acceptChunks: true })) {
      if (event.case === "chunk") {
        t.is(event.value.part, parts.length);
        parts.push(event.value.data);
      } else if (event.case === "call") {
        t.is(event.value.result, "");
        t.is(event.value.error, undefined);
      } else t.fail(event.case);
    }
    t.is(Buffer.concat(parts).toString("utf8"), whole);
  }
});

test("a manifest of two thousand tools passes, and one over the limit is said so", async (t) => {
  const execute = (): null => null;
  const tools = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`tool_${index}_${"x".repeat(1000)}`, { execute }]),
  );
  const server = await startServer(t, {}, { registry: registryOf(tools) });
  t.is((await clientOf(server).manifest({})).tools.length, 2000);
  const small = await startServer(
    t,
    {},
    { registry: registryOf(tools), limits: { messageBytes: 1 << 20 } },
  );
  for (const protocol of protocols) {
    const thrown = await t.throwsAsync(clientOf(small, protocol).manifest({}));
    const info = ConnectError.from(thrown).findDetails(ErrorInfoSchema)[0];
    t.is(info?.reason, "MESSAGE_TOO_LARGE", protocol);
  }
});
