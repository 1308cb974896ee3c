import { connect as connectH2 } from "node:http2";
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import test from "ava";
import { memoryJournal } from "../../src/journal/memory.ts";
import { createRuns } from "../../src/execution/runs.ts";
import { createExecutor } from "../../src/execution/executor.ts";
import { Outbox } from "../../src/server/outbox.ts";
import { ErrorKind, OnDisconnect, RunRequestSchema, type RunResponse } from "../../src/wire/v1.ts";
import { registryOf, type TestTool } from "../execution/world.ts";
import { clientOf, startServer, type TestServer, until } from "../server/world.ts";
import type { ExecutionContext } from "ava";

type Request = MessageInitShape<typeof RunRequestSchema>;

const mib = 1 << 20;

/** The message limit of the tests of large messages; `MESSAGE_MIB=64` is what is served by default. */
const largest = Number(process.env["MESSAGE_MIB"] ?? 4) * mib;

function openOf(onDisconnect: OnDisconnect = OnDisconnect.ABORT): Request {
  return { message: { case: "open", value: { runId: "run", onDisconnect } } };
}

function callOf(tag: bigint, name: string, rest: Record<string, unknown> = {}): Request {
  const { argumentsJson = "{}", callId = `call-${tag}`, ...more } = rest as Record<string, string>;
  const request = { request: { callId, name, argumentsJson }, ...more };
  return { message: { case: "execute", value: { tag, request } } };
}

function requests(...first: readonly Request[]): Outbox<Request> {
  const outbox = new Outbox<Request>({ room() {}, left() {} });
  for (const request of first) outbox.push(request, 1);
  return outbox;
}

/** A server whose executor and runs share a journal. */
async function journaled(
  t: ExecutionContext,
  tools: Readonly<Record<string, TestTool>>,
): Promise<TestServer & { readonly executor: ReturnType<typeof createExecutor> }> {
  const journal = memoryJournal();
  const registry = registryOf(tools);
  const maxResultBytes = largest - largest / 16;
  const executor = createExecutor({ registry, journal, maxResultBytes });
  const runs = createRuns({ executor, digest: registry.digest, journal });
  return {
    ...(await startServer(t, tools, {
      registry,
      executor,
      runs,
      limits: { messageBytes: largest },
    })),
    executor,
  };
}

/** A stream of raw gRPC messages, whose reader can stop and whose connection can be lost. */
function rawRun(server: TestServer, headers: Readonly<Record<string, string>> = {}) {
  const session = connectH2(`http://127.0.0.1:${server.port}`);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/toolport.v1.ToolPortService/Run",
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => {});
  return {
    session,
    stream,
    send(...all: readonly Request[]): void {
      for (const init of all) {
        const body = toBinary(RunRequestSchema, create(RunRequestSchema, init));
        const head = Buffer.alloc(5);
        head.writeUInt32BE(body.byteLength, 1);
        stream.write(Buffer.concat([head, body]));
      }
    },
  };
}

/** What comes of each tag: its events by their kind, the last one with its text. */
async function endsOf(stream: AsyncIterable<RunResponse>): Promise<Map<bigint, string[]>> {
  const seen = new Map<bigint, string[]>();
  for await (const { message } of stream) {
    if (message.case !== "event") continue;
    const { tag, event } = message.value;
    const list = seen.get(tag) ?? [];
    seen.set(tag, list);
    list.push(event.case ?? "");
  }
  return seen;
}

test.serial(
  "five thousand calls that are sent before anything is read all end, each once",
  async (t) => {
    const server = await journaled(t, {
      echo: {
        async *execute(args) {
          yield "working";
          return args;
        },
      },
    });
    const out = requests(openOf());
    for (let tag = 1n; tag <= 5000n; tag += 1n) out.push(callOf(tag, "echo"), 1);
    out.end();
    const ends = await endsOf(clientOf(server).run(out));
    t.is(ends.size, 5000);
    t.true([...ends.values()].every((events) => events.join(" ") === "output call"));
    await until(() => server.executor.inFlight === 0);
  },
);

test.serial(
  "partial output that no message can carry ends its call's part, and nothing follows it",
  async (t) => {
    const server = await startServer(
      t,
      {
        spout: {
          execute: (_, { output, progress }) => {
            progress(1);
            void output("x".repeat(2 * mib));
            progress(2);
            void output("more");
            return "done";
          },
        },
        quick: { execute: () => "quick" },
      },
      { limits: { messageBytes: mib } },
    );
    const out = requests(openOf(), callOf(1n, "spout"), callOf(2n, "quick"));
    out.end();
    const ends = await endsOf(clientOf(server).run(out));
    t.deepEqual(ends.get(1n), ["progress", "fault"]);
    t.deepEqual(ends.get(2n), ["call"]);
  },
);

test.serial(
  "results over the message limit come in chunks or are refused, over Run and Execute, replayed too",
  async (t) => {
    const sizes = { fits: Math.floor(largest * 0.9), over: Math.floor(largest * 1.02) };
    const server = await journaled(t, {
      fits: { execute: () => "x".repeat(sizes.fits) },
      over: { execute: () => "x".repeat(sizes.over) },
    });
    const client = clientOf(server);
    for (const name of ["fits", "over"] as const) {
      for (const acceptChunks of [true, false]) {
        const callId = `${name}-${acceptChunks}`;
        for (const isReplayed of [false, true]) {
          const out = requests(openOf(), callOf(1n, name, { callId, acceptChunks }));
          out.end();
          let bytes = 0;
          for await (const { message } of client.run(out)) {
            if (message.case !== "event") continue;
            const { event } = message.value;
            if (event.case === "chunk") bytes += event.value.data.byteLength;
            if (event.case !== "call") continue;
            t.is(event.value.replayed, isReplayed);
            bytes += event.value.result?.length ?? 0;
            const isRefused = name === "over" && !acceptChunks;
            t.is(event.value.errorKind === ErrorKind.RESULT_TOO_LARGE, isRefused);
          }
          t.is(bytes, name === "over" && !acceptChunks ? 0 : sizes[name]);
        }
        const request = { callId, runId: "run", name, argumentsJson: "{}" };
        for await (const { event } of client.execute({ request, acceptChunks })) {
          if (event.case === "call") t.true(event.value.replayed);
        }
      }
    }
  },
);

test.serial(
  "arguments almost as large as a message are read, echoed and recorded once",
  async (t) => {
    let runs = 0;
    const server = await journaled(t, {
      count: {
        execute: (args) => {
          runs += 1;
          return (args as { text: string }).text.length;
        },
      },
    });
    const length = Math.floor(largest * 0.48);
    const argumentsJson = JSON.stringify({ text: "é".repeat(length) });
    const request = { callId: "c", runId: "run", name: "count", argumentsJson };
    for (const isReplayed of [false, true]) {
      for await (const { event } of clientOf(server).execute({ request })) {
        if (event.case !== "call") continue;
        t.is(event.value.result, String(length));
        t.is(event.value.argumentsJson.length, argumentsJson.length);
        t.is(event.value.replayed, isReplayed);
      }
    }
    t.is(runs, 1);
  },
);

test.serial("metadata reaches the tool whatever its keys, over Execute and Run", async (t) => {
  const seen: unknown[] = [];
  const server = await startServer(t, {
    t: {
      execute: (_, { metadata }) => {
        seen.push([metadata["traceparent"], metadata["constructor"], metadata["toString"]]);
        seen.push([metadata["x\u0000-é"], Object.isFrozen(metadata)]);
      },
    },
  });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const metadata = { traceparent, constructor: "c", "x\u0000-é": "\u0001" };
  const request = { callId: "c", name: "t" };
  for await (const _ of clientOf(server).execute({ request, metadata }));
  const out = requests(
    { message: { case: "open", value: { runId: "run", metadata: { traceparent: "none" } } } },
    { message: { case: "execute", value: { tag: 1n, request: { request, metadata } } } },
  );
  out.end();
  for await (const _ of clientOf(server).run(out));
  const each = [
    [traceparent, "c", undefined],
    ["\u0001", true],
  ];
  t.deepEqual(seen, [...each, ...each]);
});

test.serial(
  "a lost connection with CONTINUE leaves the call running, and the retry joins it",
  async (t) => {
    const gate = Promise.withResolvers<string>();
    let runs = 0;
    let aborted = false;
    const server = await journaled(t, {
      slow: {
        execute: (_, { signal }) => {
          runs += 1;
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return gate.promise;
        },
      },
    });
    const lost = rawRun(server);
    lost.send(openOf(OnDisconnect.CONTINUE), callOf(1n, "slow", { callId: "c" }));
    await until(() => runs === 1);
    lost.session.destroy();
    await until(() => server.server.connections === 0);
    t.false(aborted);
    const out = requests(openOf(OnDisconnect.CONTINUE), callOf(9n, "slow", { callId: "c" }));
    out.end();
    const messages: RunResponse["message"][] = [];
    for await (const { message } of clientOf(server).run(out)) {
      messages.push(message);
      if (message.case === "opened") t.true(message.value.resumed);
      gate.resolve("kept");
    }
    const last = messages.at(-1);
    if (last?.case !== "event" || last.value.event.case !== "call") return t.fail();
    t.like(last.value.event.value, { result: "kept", attempt: 1 });
    t.is(runs, 1);
  },
);

test.serial("a run that is half-closed and then reset aborts its calls", async (t) => {
  let aborted = 0;
  let runs = 0;
  const server = await journaled(t, {
    waits: {
      execute: (_, { signal }) => {
        runs += 1;
        signal.addEventListener("abort", () => (aborted += 1));
        return new Promise(() => {});
      },
    },
  });
  const raw = rawRun(server);
  raw.send(openOf(OnDisconnect.CONTINUE), callOf(1n, "waits"), callOf(2n, "waits"));
  raw.stream.end();
  await until(() => runs === 2);
  raw.stream.close(8);
  await until(() => aborted === 2);
  t.is(runs, 2);
  raw.session.destroy();
});

test.serial("a run whose deadline passed before it was opened starts nothing", async (t) => {
  let runs = 0;
  const server = await startServer(t, { t: { execute: () => (runs += 1) } });
  const raw = rawRun(server, { "grpc-timeout": "50m" });
  raw.stream.resume();
  let status: unknown;
  raw.stream.on("trailers", (trailers) => (status = trailers["grpc-status"]));
  await until(() => status !== undefined);
  t.is(status, "4");
  raw.send(openOf(), callOf(1n, "t"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(runs, 0);
  raw.session.destroy();
});

test.serial(
  "tools that flood a client which never reads hold a bounded amount of memory",
  async (t) => {
    let isOver = false;
    const server = await startServer(t, {
      flood: {
        async execute(_, { output, signal }) {
          for (let n = 0; n < 30 && !signal.aborted; n += 1) {
            void output(Buffer.alloc(mib, n));
            await new Promise((resolve) => setImmediate(resolve));
          }
          return Buffer.alloc(1);
        },
      },
      big: { execute: () => (isOver ? "" : Buffer.alloc(8 * mib)) },
    });
    const raw = rawRun(server);
    const before = process.memoryUsage();
    let most = 0;
    const measure = (): void => {
      const { external, heapUsed } = process.memoryUsage();
      most = Math.max(most, external + heapUsed - before.external - before.heapUsed);
    };
    raw.send(openOf());
    for (let tag = 1n; tag <= 100n; tag += 1n) raw.send(callOf(tag, "flood"));
    for (let n = 0; n < 40; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      measure();
    }
    // Unread answers stop the reading of requests: what is asked for now is not run.
    for (let tag = 101n; tag <= 300n; tag += 1n) raw.send(callOf(tag, "big"));
    for (let n = 0; n < 40; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      measure();
    }
    t.true(most < 700 * mib, `${Math.round(most / mib)} MiB were held`);
    isOver = true;
    raw.session.destroy();
  },
);
