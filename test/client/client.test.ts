import { createServer } from "node:http2";
import { setTimeout as wait } from "node:timers/promises";

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";
import test from "ava";

import {
  connect,
  type ExecutionEvent,
  isToolPortError,
  type ToolPortError,
} from "../../src/client/index.ts";
import {
  ErrorInfoSchema,
  type ExecuteRequest,
  ExecuteRequestSchema,
  type ExecuteResponse,
  ExecuteResponseSchema,
  ManifestRequestSchema,
  ManifestResponseSchema,
  RefuseRequestSchema,
  RefuseResponseSchema,
  RetryInfoSchema,
  StatusSchema,
} from "../../src/wire/v1.ts";

type Stream = grpc.ServerWritableStream<ExecuteRequest, ExecuteResponse>;

/** A server of another make that speaks the contract, with one behaviour a tool name. */
async function startServer(
  execute: (stream: Stream) => void,
): Promise<{ address: string; stop(): void }> {
  const server = new grpc.Server();
  const path = "/toolport.v1.ToolPortService/";
  server.addService(
    {
      Manifest: {
        path: `${path}Manifest`,
        requestStream: false,
        responseStream: false,
        requestDeserialize: (data: Buffer) => fromBinary(ManifestRequestSchema, data),
        requestSerialize: () => Buffer.alloc(0),
        responseSerialize: (value) => Buffer.from(toBinary(ManifestResponseSchema, value)),
        responseDeserialize: () => undefined,
      },
      Refuse: {
        path: `${path}Refuse`,
        requestStream: false,
        responseStream: false,
        requestDeserialize: (data: Buffer) => fromBinary(RefuseRequestSchema, data),
        requestSerialize: () => Buffer.alloc(0),
        responseSerialize: (value) => Buffer.from(toBinary(RefuseResponseSchema, value)),
        responseDeserialize: () => undefined,
      },
      Execute: {
        path: `${path}Execute`,
        requestStream: false,
        responseStream: true,
        requestDeserialize: (data: Buffer) => fromBinary(ExecuteRequestSchema, data),
        requestSerialize: () => Buffer.alloc(0),
        responseSerialize: (value) => Buffer.from(toBinary(ExecuteResponseSchema, value)),
        responseDeserialize: () => undefined,
      },
    },
    {
      Manifest: (call: grpc.ServerUnaryCall<unknown, unknown>, done: grpc.sendUnaryData<unknown>) =>
        done(
          null,
          create(ManifestResponseSchema, { digest: String(call.metadata.get("authorization")[0]) }),
        ),
      Refuse: (
        call: grpc.ServerUnaryCall<{ reason: string; request: { callId: string } }, unknown>,
        done: grpc.sendUnaryData<unknown>,
      ) =>
        done(
          null,
          create(RefuseResponseSchema, {
            call: { id: call.request.request.callId, error: call.request.reason },
          }),
        ),
      Execute: execute,
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
  return { address: `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
}

type EventInit = NonNullable<MessageInitShape<typeof ExecuteResponseSchema>["event"]>;

function send(stream: Stream, event: EventInit): void {
  stream.write(create(ExecuteResponseSchema, { event }));
}

function finish(stream: Stream, fields: { result?: string; error?: string }): void {
  const { request } = stream.request;
  send(stream, { case: "call", value: { id: request?.callId ?? "", ...fields } });
  stream.end();
}

async function collect(events: AsyncIterable<ExecutionEvent>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) seen.push(event.case);
  return seen;
}

async function faultOf(work: PromiseLike<unknown>): Promise<ToolPortError> {
  try {
    await work;
  } catch (error) {
    if (isToolPortError(error)) return error;
    throw error;
  }
  throw new Error("no fault came");
}

test("a call's events come in order, its outcome last, and the result is the same outcome", async (t) => {
  const server = await startServer((stream) => {
    send(stream, { case: "progress", value: { done: 1, message: "half" } });
    send(stream, { case: "output", value: { output: { case: "text", value: "a" } } });
    finish(stream, { result: stream.request.request?.argumentsJson ?? "" });
  });
  const client = connect({ address: server.address });
  const execution = client.execute({ name: "echo", arguments: { n: 12345678901234567890n } });
  t.deepEqual(await collect(execution), ["progress", "output", "call"]);
  t.is((await execution.result).result, '{"n":12345678901234567890}');
  t.not(execution.callId, "");
  client.close();
  server.stop();
});

test("the result can be awaited alone, however many events come before it", async (t) => {
  const server = await startServer((stream) => {
    for (let n = 0; n < 1000; n += 1) {
      send(stream, { case: "progress", value: { done: n } });
    }
    finish(stream, { result: "" });
  });
  const client = connect({ address: server.address });
  const call = await client.execute({ name: "busy", callId: "c1" }).result;
  t.is(call.result, "");
  t.is(call.error, undefined);
  t.is(call.id, "c1");
  client.close();
  server.stop();
});

test("a result in chunks arrives whole, also where a chunk ends within a character", async (t) => {
  const bytes = Buffer.from("grüße");
  const server = await startServer((stream) => {
    send(stream, { case: "chunk", value: { part: 0, data: bytes.subarray(0, 3) } });
    send(stream, { case: "chunk", value: { part: 1, data: bytes.subarray(3) } });
    finish(stream, { result: "" });
  });
  const client = connect({ address: server.address });
  t.is((await client.execute({ name: "big" }).result).result, "grüße");
  client.close();
  server.stop();
});

test("leaving the loop early cancels the call", async (t) => {
  const cancelled = Promise.withResolvers<void>();
  const server = await startServer((stream) => {
    stream.on("cancelled", () => cancelled.resolve());
    send(stream, { case: "progress", value: { done: 1 } });
  });
  const client = connect({ address: server.address });
  const execution = client.execute({ name: "endless" });
  for await (const event of execution) {
    t.is(event.case, "progress");
    break;
  }
  await cancelled.promise;
  t.is((await faultOf(execution.result)).code, "CANCELLED");
  client.close();
  server.stop();
});

test("a signal cancels the call, also one that has fired before", async (t) => {
  const server = await startServer((stream) => {
    send(stream, { case: "progress", value: { done: 1 } });
  });
  const client = connect({ address: server.address });
  const controller = new AbortController();
  const execution = client.execute({ name: "endless" }, { signal: controller.signal });
  const fault = faultOf(collect(execution));
  await wait(50);
  controller.abort();
  t.is((await fault).code, "CANCELLED");
  const late = client.execute({ name: "endless" }, { signal: AbortSignal.abort() });
  t.is((await faultOf(late.result)).code, "CANCELLED");
  client.close();
  server.stop();
});

test("a deadline that passes is a fault", async (t) => {
  const server = await startServer(() => {});
  const client = connect({ address: server.address });
  const fault = await faultOf(client.execute({ name: "endless" }, { deadlineMs: 50 }).result);
  t.is(fault.code, "DEADLINE_EXCEEDED");
  t.is(fault.started, "unknown");
  client.close();
  server.stop();
});

test("a fault bears the reason, what started and the delay that the server states", async (t) => {
  const details = [
    anyPack(
      ErrorInfoSchema,
      create(ErrorInfoSchema, {
        domain: "toolport",
        reason: "OVERLOADED",
        metadata: { started: "no" },
      }),
    ),
    anyPack(
      RetryInfoSchema,
      create(RetryInfoSchema, { retryDelay: { seconds: 1n, nanos: 500_000_000 } }),
    ),
  ];
  const text = "voll: 100 % – später\nwieder";
  const status = create(StatusSchema, {
    code: grpc.status.RESOURCE_EXHAUSTED,
    message: text,
    details,
  });
  const server = await startServer((stream) => {
    const metadata = new grpc.Metadata();
    metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, status)));
    stream.emit("error", { code: grpc.status.RESOURCE_EXHAUSTED, details: text, metadata });
  });
  const client = connect({ address: server.address });
  const fault = await faultOf(collect(client.execute({ name: "any" })));
  t.like(fault, { code: "OVERLOADED", started: "no", retryAfterMs: 1500, message: text });
  client.close();
  server.stop();
});

test("a stream that ends without an outcome is a fault, never a success", async (t) => {
  const server = await startServer((stream) => stream.end());
  const client = connect({ address: server.address });
  t.is((await faultOf(client.execute({ name: "any" }).result)).code, "INTERNAL");
  client.close();
  server.stop();
});

test("where no server answers the fault says so, and that nothing started", async (t) => {
  const client = connect({ address: "unix:/no/such/socket" });
  const fault = await faultOf(client.execute({ name: "any" }).result);
  t.is(fault.code, "UNREACHABLE");
  t.is(fault.started, "no");
  t.regex(fault.message, /no server answers at unix:\/no\/such\/socket: .*ENOENT/);
  t.is((await faultOf(client.ready(100))).code, "UNREACHABLE");
  client.close();
});

test("a server that dies during a call is a fault that leaves open what started", async (t) => {
  const reached = Promise.withResolvers<void>();
  const server = await startServer(() => reached.resolve());
  const client = connect({ address: server.address });
  const fault = faultOf(client.execute({ name: "any" }).result);
  await reached.promise;
  server.stop();
  t.like(await fault, { started: "unknown" });
  client.close();
});

test("the token is sent with every request, and Refuse answers with the record", async (t) => {
  const server = await startServer(() => {});
  const client = connect({ address: server.address, token: "s3cret" });
  t.is((await client.manifest()).digest, "Bearer s3cret");
  const call = await client.refuse({ name: "any", callId: "c9" }, "not today");
  t.like(call, { id: "c9", error: "not today" });
  client.close();
  server.stop();
});

test("what cannot be sent is refused before anything is", async (t) => {
  t.throws(() => connect({ address: "http://localhost" }), { code: "REQUEST_INVALID" });
  const secret = t.throws(() => connect({ address: "localhost:1", token: "two words" }));
  t.notRegex(secret.message, /two words/);
  const client = connect({ address: "localhost:1" });
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  t.throws(() => client.execute({ name: "any", arguments: cycle }), { code: "REQUEST_INVALID" });
  t.throws(() => client.execute({ name: "any" }, { timeoutMs: -1 }), { code: "REQUEST_INVALID" });
  client.close();
});

test("a stream that is cut before it has a status is a connection lost", async (t) => {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { endStream: false });
    setTimeout(() => stream.close(0), 10);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const client = connect({ address: `127.0.0.1:${port}` });
  t.teardown(() => client.close());
  const fault = await faultOf(client.execute({ name: "any" }).result);
  t.like(fault, { code: "UNREACHABLE", started: "unknown" });
  t.regex(fault.message, /^the connection to 127\.0\.0\.1:\d+ was lost: /u);
});
