import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import test from "ava";
import { Outbox } from "../../src/server/outbox.ts";
import { ErrorInfoSchema, type RunRequestSchema, type RunResponse } from "../../src/wire/v1.ts";
import { clientOf, startServer, until } from "./world.ts";

type Request = MessageInitShape<typeof RunRequestSchema>;

const open: Request = { message: { case: "open", value: { runId: "run" } } };

function execute(tag: bigint, name: string, callId = `call-${tag}`): Request {
  return { message: { case: "execute", value: { tag, request: { request: { callId, name } } } } };
}

function requests(): Outbox<Request> {
  return new Outbox<Request>({ room() {}, left() {} });
}

function send(outbox: Outbox<Request>, ...all: readonly Request[]): void {
  for (const request of all) outbox.push(request, 1);
}

async function collect(stream: AsyncIterable<RunResponse>): Promise<RunResponse["message"][]> {
  const messages: RunResponse["message"][] = [];
  for await (const { message } of stream) messages.push(message);
  return messages;
}

test("calls of a run end in the order that they finish, and half-closing lets them", async (t) => {
  const gate = Promise.withResolvers<string>();
  const server = await startServer(t, {
    slow: { execute: () => gate.promise },
    quick: { execute: () => "quick" },
  });
  const out = requests();
  send(out, open, execute(7n, "slow"), execute(9n, "quick"), execute(11n, "nobody"));
  out.end();
  const seen: unknown[] = [];
  for await (const { message } of clientOf(server).run(out)) {
    if (message.case !== "event") {
      seen.push(message.case);
      continue;
    }
    const { tag, callId, event } = message.value;
    if (event.case === "call") seen.push([tag, callId, event.value.result ?? event.value.error]);
    if (tag === 11n) gate.resolve("slow");
  }
  t.deepEqual(seen, [
    "opened",
    [9n, "call-9", "quick"],
    [11n, "call-11", "unknown tool 'nobody'"],
    [7n, "call-7", "slow"],
  ]);
});

test("a fault of one call ends that call, with its details, and no other", async (t) => {
  const server = await startServer(t, { quick: { execute: () => "quick" } });
  const out = requests();
  send(out, open, execute(1n, "quick", ""), execute(2n, "quick"));
  out.end();
  const messages = await collect(clientOf(server).run(out));
  const ends = messages.flatMap((message) =>
    message.case === "event" ? [message.value.event] : [],
  );
  t.deepEqual(
    ends.map((event) => event.case),
    ["fault", "call"],
  );
  const fault = ends[0];
  if (fault?.case !== "fault") return t.fail();
  t.is(fault.value.code, Code.InvalidArgument);
  t.is(fault.value.details[0]?.typeUrl, `type.googleapis.com/${ErrorInfoSchema.typeName}`);
});

test("a cancel ends its call alone", async (t) => {
  let started = 0;
  const server = await startServer(t, {
    deaf: {
      execute() {
        started += 1;
        return new Promise(() => {});
      },
    },
    quick: { execute: () => "quick" },
  });
  const out = requests();
  send(out, open, execute(1n, "deaf"));
  const answers = collect(clientOf(server).run(out));
  await until(() => started === 1);
  send(out, { message: { case: "cancel", value: { tag: 1n } } }, execute(2n, "quick"));
  out.end();
  const ends = (await answers).flatMap((message) =>
    message.case === "event" ? [`${message.value.tag} ${message.value.event.case}`] : [],
  );
  t.deepEqual(ends, ["1 fault", "2 call"]);
});

test("a run-aware tool asks the kernel and gets its answer", async (t) => {
  const server = await startServer(t, {
    asks: { runAware: true, execute: (_args, { run }) => run?.ask("approve", { amount: 12n }) },
  });
  const out = requests();
  send(out, open, execute(1n, "asks"));
  let result: string | undefined;
  for await (const { message } of clientOf(server).run(out)) {
    if (message.case === "hostRequest") {
      const { requestId, name, payloadJson, tag } = message.value;
      t.deepEqual([name, payloadJson, tag], ["approve", '{"amount":12}', 1n]);
      const reply = { case: "resultJson" as const, value: '{"ok":true}' };
      send(out, { message: { case: "hostReply", value: { requestId, reply } } });
    }
    if (message.case === "event" && message.value.event.case === "call") {
      result = message.value.event.value.result;
      out.end();
    }
  }
  t.is(result, '{"ok":true}');
});

for (const [what, messages, text] of [
  ["a stream that doesn't open first", [execute(1n, "x")], /`open`/u],
  ["a second open", [open, open], /second time/u],
  ["an empty run id", [{ message: { case: "open", value: { runId: "" } } }], /open\.run_id/u],
  ["a tag of zero", [open, execute(0n, "x")], /tag/u],
  ["a tag used twice", [open, execute(1n, "x"), execute(1n, "x")], /tag 1 /u],
  ["a message of no kind", [open, {}], /message is not set/u],
] as const satisfies readonly (readonly [string, readonly Request[], RegExp])[]) {
  test(`${what} ends the run with a fault that says so`, async (t) => {
    const server = await startServer(t, { x: { execute: () => "x" } });
    const out = requests();
    send(out, ...messages);
    const thrown = await t.throwsAsync(collect(clientOf(server).run(out)));
    const error = ConnectError.from(thrown);
    t.is(error.code, Code.InvalidArgument);
    t.regex(error.rawMessage, text);
    t.is(error.findDetails(ErrorInfoSchema)[0]?.reason, "REQUEST_INVALID");
  });
}

test("over HTTP/1.1 a run is refused, since it needs both directions at once", async (t) => {
  const server = await startServer(t, {});
  const answer = await fetch(`http://127.0.0.1:${server.port}/toolport.v1.ToolPortService/Run`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
  });
  t.is(answer.status, 505);
});
