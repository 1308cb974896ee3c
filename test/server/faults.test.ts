import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import test from "ava";
import { ToolPortError } from "../../src/errors.ts";
import type { Executor } from "../../src/execution/port.ts";
import { faultDomain } from "../../src/wire/faults.ts";
import { ErrorInfoSchema, type ExecuteRequestSchema, RetryInfoSchema } from "../../src/wire/v1.ts";
import { callTool, clientOf, protocols, startServer } from "./world.ts";

function executorThatFails(fault: unknown): Executor {
  return {
    inFlight: 0,
    drain: () => Promise.resolve(),
    execute(_request, caller) {
      if (!(fault instanceof ToolPortError)) throw fault;
      caller.end({ kind: "fault", fault });
      return { leave() {}, resume() {} };
    },
  };
}

for (const protocol of protocols) {
  test(`a fault has its text, its reason and its delay, whole, over ${protocol}`, async (t) => {
    const text = "échec – 失敗 100%\nligne 2 \ud83d\ude80";
    const fault = new ToolPortError("OVERLOADED", text, { retryAfterMs: 1500, started: "no" });
    const server = await startServer(t, {}, { executor: executorThatFails(fault) });
    const thrown = await t.throwsAsync(callTool(clientOf(server, protocol), "any"));
    const error = ConnectError.from(thrown);
    t.is(error.code, Code.ResourceExhausted);
    t.is(error.rawMessage, text);
    const info = error.findDetails(ErrorInfoSchema)[0];
    t.is(info?.reason, "OVERLOADED");
    t.is(info?.domain, faultDomain);
    t.is(info?.metadata["started"], "no");
    const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
    t.deepEqual([delay?.seconds, delay?.nanos], [1n, 500_000_000]);
  });

  test(`a defect tells nothing of itself over ${protocol}, and is logged`, async (t) => {
    const secret = new TypeError("password hunter2 at /srv/secret.ts:1");
    const server = await startServer(t, {}, { executor: executorThatFails(secret) });
    const thrown = await t.throwsAsync(callTool(clientOf(server, protocol), "any"));
    const error = ConnectError.from(thrown);
    t.is(error.code, Code.Internal);
    t.is(error.findDetails(ErrorInfoSchema)[0]?.reason, "INTERNAL");
    t.notRegex(JSON.stringify([error.rawMessage, error.details]), /hunter2|secret/u);
    t.true(server.logged.some(({ fields }) => fields?.["error"] === secret));
  });

  test(`a field that breaks its rule is named over ${protocol}`, async (t) => {
    const server = await startServer(t, { echo: { execute: (args) => args } });
    const client = clientOf(server, protocol);
    const request = { callId: "1", name: "echo" };
    const long = "é".repeat(513);
    const requests = [
      [{}, "REQUEST_INVALID", /^request /u],
      [{ request: { name: "echo" } }, "CALL_ID_MISSING", /^request\.call_id /u],
      [{ request, timeoutMs: 0 }, "REQUEST_INVALID", /^timeout_ms /u],
      [{ request, onDisconnect: 9 }, "REQUEST_INVALID", /^on_disconnect is 9/u],
      [{ request: { ...request, callId: long } }, "REQUEST_INVALID", /call_id has 1026 bytes/u],
      [{ request: { ...request, runId: long } }, "REQUEST_INVALID", /run_id has 1026 bytes/u],
    ] as const;
    for (const [init, reason, text] of requests) {
      const thrown = await t.throwsAsync(async () => {
        for await (const event of client.execute(
          init as MessageInitShape<typeof ExecuteRequestSchema>,
        ))
          t.fail(event.event.case);
      });
      const error = ConnectError.from(thrown);
      t.is(error.code, Code.InvalidArgument);
      t.is(error.findDetails(ErrorInfoSchema)[0]?.reason, reason);
      t.regex(error.rawMessage, text);
    }
    const refusing = await t.throwsAsync(client.refuse({ request: { name: "x" } }));
    t.is(ConnectError.from(refusing).findDetails(ErrorInfoSchema)[0]?.reason, "CALL_ID_MISSING");
    for (const extraJson of ["[]", "{", "7", '{"a":1,"a":2}']) {
      const thrown = await t.throwsAsync(client.select({ state: { extraJson } }));
      t.regex(ConnectError.from(thrown).rawMessage, /^state\.extra_json /u);
    }
    const format = await t.throwsAsync(client.manifest({ format: 99 as never }));
    t.regex(ConnectError.from(format).rawMessage, /^format is 99/u);
    const choice = await t.throwsAsync(client.select({ format: 99 as never }));
    t.regex(ConnectError.from(choice).rawMessage, /^format is 99/u);
  });
}
