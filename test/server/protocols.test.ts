import test from "ava";
import { callTool, clientFor, clientOf, protocols, startServer } from "./world.ts";
import { Health, ServerReflection } from "../../src/wire/beside.ts";
import { ToolPortService } from "../../src/wire/v1.ts";

const everyProtocol = test.macro({
  exec: async (t, protocol: (typeof protocols)[number]) => {
    const server = await startServer(t, {
      echo: { execute: (args) => args },
      steps: {
        async *execute(_args, context) {
          context.progress(1, 3, "étape – 1");
          yield "one";
          yield { n: 2n ** 60n };
          yield new Uint8Array([1, 2, 3]);
          return "done";
        },
      },
      broken: {
        execute() {
          throw new RangeError("échec – 失敗 100%\nligne 2");
        },
      },
    });
    const client = clientOf(server, protocol);

    const manifest = await client.manifest({});
    t.deepEqual(
      manifest.tools.map(({ name }) => name),
      ["echo", "steps", "broken"],
    );
    t.is(manifest.digest, "sha256:set");
    t.is(manifest.server?.contract, "toolport.v1");
    t.is(manifest.server?.maxMessageBytes, 64 << 20);
    t.deepEqual(manifest.server?.features, ["run"]);

    const call = await callTool(client, "echo", '{ "id": 12345678901234567890 }');
    t.is(call.result, '{"id":12345678901234567890}');
    t.is(call.argumentsJson, '{ "id": 12345678901234567890 }');
    t.true(Number.isFinite(call.durationMs) && call.durationMs >= 0);

    const events: unknown[] = [];
    const request = { callId: "steps-1", name: "steps" };
    for await (const { event } of client.execute({ request })) {
      if (event.case === "progress") events.push([event.value.done, event.value.message]);
      else if (event.case === "output" && event.value.output.case === "content") {
        events.push([...(event.value.output.value.source.value as Uint8Array)]);
      } else if (event.case === "output") events.push(event.value.output.value);
      else if (event.case === "call") events.push(event.value.result);
    }
    t.deepEqual(events, [[1, "étape – 1"], "one", '{"n":1152921504606846976}', [1, 2, 3], "done"]);

    const broken = await callTool(client, "broken");
    t.is(broken.error, "RangeError: échec – 失敗 100%\nligne 2");
    t.is(broken.result, undefined);

    const refused = await client.refuse({ request: { callId: "r", name: "nobody" } });
    t.is(refused.call?.error, "refused by a tool precondition");
    t.is(refused.call?.durationMs, 0);

    const selected = await client.select({ candidates: { names: ["broken", "echo", "nobody"] } });
    t.deepEqual(selected.result?.tools, ["broken", "echo"]);
    t.false(selected.result?.decided);

    const health = clientFor(Health, server, protocol);
    t.is((await health.check({ service: ToolPortService.typeName })).status, 1);
  },
  title: (_, protocol) => `every RPC answers alike over ${String(protocol)}`,
});
for (const protocol of protocols) test(everyProtocol, protocol);

test("reflection lists what is served", async (t) => {
  const server = await startServer(t, {});
  const names: string[] = [];
  for await (const { messageResponse } of clientFor(ServerReflection, server).serverReflectionInfo(
    (async function* () {
      yield { messageRequest: { case: "listServices" as const, value: "" } };
    })(),
  )) {
    if (messageResponse.case !== "listServicesResponse") continue;
    names.push(...messageResponse.value.service.map(({ name }) => name));
  }
  t.deepEqual(names, [
    "toolport.v1.ToolPortService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
  ]);
});

for (const protocol of protocols) {
  test(`a policy that decides on no tools is not one that abstains over ${protocol}`, async (t) => {
    const server = await startServer(
      t,
      { echo: { execute: (args) => args } },
      { selection: { palettes: ({ role }) => (role === "nobody" ? [] : null) } },
    );
    const client = clientOf(server, protocol);
    const abstained = (await client.select({ role: "other" })).result;
    t.false(abstained?.decided);
    t.deepEqual(abstained?.tools, ["echo"]);
    const decided = (await client.select({ role: "nobody" })).result;
    t.true(decided?.decided);
    t.deepEqual(decided?.tools, []);
    t.deepEqual((await client.select({ candidates: { names: [] } })).result?.tools, []);
    t.deepEqual((await client.manifest({ names: { names: [] } })).tools, []);
    t.is((await client.manifest({})).tools.length, 1);
  });
}
