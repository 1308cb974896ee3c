import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { create, type DescMethod, type Message, toBinary, fromBinary } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import test from "ava";
import { ServerReflectionAlpha } from "../../src/wire/beside.ts";
import { type ExecuteResponse, type ManifestResponse, ToolPortService } from "../../src/wire/v1.ts";
import { clientFor, folder, startServer } from "./world.ts";

const run = promisify(execFile);
const token = "a-token-that-is-long-enough";
const tools = { echo: { execute: (args: unknown) => args } };

/** What grpc-js wants to know of a method. */
function wire({ parent, name, input, output }: DescMethod): {
  path: string;
  encode: (message: Message) => Buffer;
  decode: (bytes: Buffer) => Message;
} {
  return {
    path: `/${parent.typeName}/${name}`,
    encode: (message) => Buffer.from(toBinary(input, message)),
    decode: (bytes) => fromBinary(output, new Uint8Array(bytes)),
  };
}

function grpcJs(
  target: string,
  metadata = new Metadata(),
): {
  unary: (method: DescMethod, init: Record<string, unknown>) => Promise<Message>;
  stream: (method: DescMethod, init: Record<string, unknown>) => ClientReadableStream<Message>;
  close: () => void;
} {
  const client = new Client(target, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  return {
    unary: (method, init) =>
      new Promise((resolve, reject) => {
        const { path, encode, decode } = wire(method);
        const message = create(method.input, init);
        client.makeUnaryRequest(path, encode, decode, message, metadata, (error, answer) => {
          if (error) reject(error);
          else resolve(answer as Message);
        });
      }),
    stream(method, init) {
      const { path, encode, decode } = wire(method);
      return client.makeServerStreamRequest(
        path,
        encode,
        decode,
        create(method.input, init),
        metadata,
      );
    },
    close: () => client.close(),
  };
}

for (const kind of ["TCP", "a unix socket"] as const) {
  test(`grpc-js reaches every RPC over ${kind}`, async (t) => {
    const server = await startServer(
      t,
      tools,
      kind === "TCP" ? {} : { address: `unix:${folder(t)}/s` },
    );
    const client = grpcJs(server.server.address);
    t.teardown(() => client.close());
    const { method } = ToolPortService;
    const manifest = (await client.unary(method.manifest, {})) as ManifestResponse;
    t.is(manifest.tools[0]?.name, "echo");
    const request = { callId: "1", name: "echo", argumentsJson: '{"a":1}' };
    const events: string[] = [];
    for await (const message of client.stream(method.execute, { request })) {
      const { event } = message as ExecuteResponse;
      if (event.case === "call") events.push(event.value.result ?? "");
    }
    t.deepEqual(events, ['{"a":1}']);
    const thrown = await t.throwsAsync(client.unary(method.refuse, {}));
    t.is((thrown as ServiceError).code, status.INVALID_ARGUMENT);
    t.truthy((thrown as ServiceError).metadata.get("grpc-status-details-bin")[0]);
  });
}

test("grpc-js is told UNAUTHENTICATED without the token, on an unknown method too", async (t) => {
  const server = await startServer(t, tools, { tokens: [token] });
  const stranger = grpcJs(server.server.address);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  const known = grpcJs(server.server.address, metadata);
  t.teardown(() => [stranger.close(), known.close()]);
  const { manifest } = ToolPortService.method;
  const unknown = { ...manifest, name: "Nothing" } as DescMethod;
  for (const method of [manifest, unknown]) {
    const thrown = await t.throwsAsync(stranger.unary(method, {}));
    t.is((thrown as ServiceError).code, status.UNAUTHENTICATED, thrown?.message);
  }
  const missing = await t.throwsAsync(known.unary(unknown, {}));
  t.is((missing as ServiceError).code, status.UNIMPLEMENTED);
  await t.notThrowsAsync(known.unary(manifest, {}));
});

test("Connect JSON by hand, as curl would post it", async (t) => {
  const server = await startServer(t, tools);
  const answer = await fetch(`http://${server.server.address}/toolport.v1.ToolPortService/Refuse`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ request: { callId: "1", name: "echo" }, reason: "not now" }),
  });
  t.is(answer.status, 200);
  const { call } = (await answer.json()) as { call: Record<string, unknown> };
  t.deepEqual(call, { id: "1", name: "echo", error: "not now", errorKind: "ERROR_KIND_REFUSED" });
});

test("reflection v1alpha tells a symbol's file with all that it imports", async (t) => {
  const server = await startServer(t, tools);
  const stream = clientFor(ServerReflectionAlpha, server).serverReflectionInfo(
    (async function* () {
      yield {
        messageRequest: {
          case: "fileContainingSymbol" as const,
          value: "toolport.v1.ToolCall.result",
        },
      };
      yield {
        messageRequest: {
          case: "fileByFilename" as const,
          value: "google/rpc/error_details.proto",
        },
      };
      yield { messageRequest: { case: "fileContainingSymbol" as const, value: "constructor" } };
      yield {};
    })(),
  );
  const seen: unknown[] = [];
  for await (const { messageResponse } of stream) {
    if (messageResponse.case === "fileDescriptorResponse") {
      seen.push(messageResponse.value.fileDescriptorProto.length > 0);
    } else if (messageResponse.case === "errorResponse") seen.push(messageResponse.value.errorCode);
  }
  t.deepEqual(seen, [true, true, 5, 3]);
});

const has = (program: string, flag: string): boolean => spawnSync(program, [flag]).status === 0;

(has("grpcurl", "-version") ? test : test.skip)(
  "grpcurl lists, describes and calls by reflection (skipped where it is not installed)",
  async (t) => {
    const { server } = await startServer(t, tools);
    const grpcurl = async (...args: string[]): Promise<string> =>
      (await run("grpcurl", ["-plaintext", ...args])).stdout;
    t.regex(await grpcurl(server.address, "list"), /^toolport\.v1\.ToolPortService$/mu);
    t.regex(await grpcurl(server.address, "describe", "toolport.v1.ExecuteRequest"), /timeout_ms/u);
    const body = '{"request":{"call_id":"1","name":"echo","arguments_json":"{}"}}';
    const answer = await grpcurl("-d", body, server.address, "toolport.v1.ToolPortService/Execute");
    t.is((JSON.parse(answer) as { call: { result: string } }).call.result, "{}");
  },
);

(has("grpc-health-probe", "-version") ? test : test.skip)(
  "grpc-health-probe finds it serving (skipped where it is not installed)",
  async (t) => {
    const { server } = await startServer(t, tools);
    const { stdout, stderr } = await run("grpc-health-probe", ["-addr", server.address]);
    t.regex(stdout + stderr, /SERVING/u);
  },
);
