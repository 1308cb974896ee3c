import test from "ava";
import type { JsonValue } from "../../src/domain/json.ts";
import type { ToolPortError } from "../../src/errors.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { open, portOf } from "./run-world.ts";
import { gate, requestOf, type TestTool, until } from "./world.ts";

test("many calls of a run end in the order they finish, under their tags", async (t) => {
  const slow = gate<string>();
  const port = portOf({ slow: { execute: () => slow.promise }, fast: { execute: () => "F" } });
  const stream = open(port);
  stream.session.call(1n, requestOf("slow"));
  stream.session.call(2n, requestOf("fast"));
  t.is(await stream.result(2n), "F");
  t.false(stream.ends.has(1n));
  stream.session.halfClose();
  t.is(stream.closed, undefined);
  slow.open("S");
  t.is(await stream.result(1n), "S");
  t.deepEqual(stream.closed, { fault: undefined });
});

test("a call's fault ends that call and not the stream", async (t) => {
  const stream = open(portOf({ t: { execute: () => "ok" } }));
  stream.session.call(1n, requestOf("t", { callId: "" }));
  stream.session.call(2n, requestOf("t", { runId: "another" }));
  stream.session.call(3n, requestOf("t"), 0);
  stream.session.call(4n, requestOf("t"));
  t.is(await stream.result(1n), "CALL_ID_MISSING");
  t.is(await stream.result(2n), "REQUEST_INVALID");
  t.is(await stream.result(3n), "DEADLINE_EXCEEDED");
  t.is(await stream.result(4n), "ok");
  t.is(stream.closed, undefined);
});

for (const tags of [[0n], [1n, 1n], [2n, 1n, 2n], [5n, 5n]]) {
  test(`the tags ${tags.join(", ")} end the stream with INVALID_ARGUMENT and abort its calls`, (t) => {
    const signals: AbortSignal[] = [];
    const stream = open(
      portOf({
        t: {
          execute: (_, { signal }) => {
            signals.push(signal);
            return new Promise(() => {});
          },
        },
      }),
    );
    for (const tag of tags) stream.session.call(tag, requestOf("t"));
    t.is(stream.closed?.fault?.code, "REQUEST_INVALID");
    t.true(signals.every(({ aborted }) => aborted));
  });
}

test("cancel ends one call by its tag; a tag that names none is ignored", async (t) => {
  const stream = open(portOf({ t: { execute: () => new Promise(() => {}) } }));
  stream.session.call(1n, requestOf("t"));
  stream.session.call(2n, requestOf("t"));
  stream.session.cancel(99n);
  stream.session.cancel(2n);
  t.is(await stream.result(2n), "CANCELLED");
  t.false(stream.ends.has(1n));
});

test("an empty run id, another set's digest and a closed port refuse the stream", (t) => {
  const port = portOf({});
  t.is(open(port, { runId: "" }).closed?.fault?.code, "REQUEST_INVALID");
  t.is(open(port, { expectedDigest: "sha256:other" }).closed?.fault?.code, "DIGEST_MISMATCH");
});

const asking: TestTool = {
  runAware: true,
  execute: async (args, { run }) =>
    `${run?.id}: ${JSON.stringify(await run?.ask("approve", args as JsonValue))}`,
};

test("a run-aware tool asks the kernel and gets its answer", async (t) => {
  const stream = open(portOf({ asking }), { metadata: { a: "run", b: "run" } });
  stream.session.call(7n, requestOf("asking", { argumentsJson: '{"amount":3}' }));
  const [question] = stream.questions;
  t.like(question, { tag: 7n, name: "approve", payloadJson: '{"amount":3}' });
  stream.session.reply("nobody asked", { ok: true, resultJson: "1" });
  stream.session.reply(question?.requestId ?? "", {
    ok: true,
    resultJson: '{"yes":86420975310864213}',
  });
  t.is(await stream.result(7n), "TypeError: Do not know how to serialize a BigInt");
  stream.session.call(8n, requestOf("asking"));
  stream.session.reply(stream.questions[1]?.requestId ?? "", { ok: false, error: "not today" });
  t.is(await stream.result(8n), "ToolPortError: not today");
});

test("a question is taken back when the call that asks has ended", async (t) => {
  const stream = open(portOf({ asking }));
  stream.session.call(1n, requestOf("asking"));
  stream.session.cancel(1n);
  t.is(await stream.result(1n), "CANCELLED");
  t.deepEqual(stream.unasked, [stream.questions[0]?.requestId]);
});

test("a tool that keeps the run sees it end and can ask no more", async (t) => {
  let kept: { live: boolean; ask: (name: string) => Promise<unknown> } | undefined;
  const stream = open(
    portOf({
      t: {
        runAware: true,
        execute: (_, { run }) => {
          kept = run;
          return "ok";
        },
      },
    }),
  );
  stream.session.call(1n, requestOf("t"));
  await stream.result(1n);
  t.true(kept?.live);
  stream.session.halfClose();
  t.false(kept?.live);
  await t.throwsAsync(async () => kept?.ask("x"), { message: /has ended|no longer live/ });
});

test("a lost stream aborts its calls", async (t) => {
  let signal: AbortSignal | undefined;
  const stream = open(
    portOf({
      t: {
        execute: (_, context) => {
          signal = context.signal;
          return new Promise(() => {});
        },
      },
    }),
  );
  stream.session.call(1n, requestOf("t"));
  stream.session.leave("disconnected");
  t.true(signal?.aborted);
});

test("with CONTINUE the run can be taken over: its calls are joined and its questions asked again", async (t) => {
  let runs = 0;
  const port = portOf(
    {
      asking: {
        runAware: true,
        execute: async (_, { run }) => {
          runs += 1;
          return run?.ask("go");
        },
      },
    },
    { journal: memoryJournal() },
  );
  const lost = open(port, { onDisconnect: "continue" });
  lost.session.call(1n, requestOf("asking", { callId: "c" }));
  await until(() => lost.questions.length === 1);
  lost.session.leave("disconnected");
  const next = open(port, { onDisconnect: "continue" });
  t.true(next.resumed);
  t.is(next.questions[0]?.requestId, lost.questions[0]?.requestId);
  next.session.call(1n, requestOf("asking", { callId: "c" }));
  next.session.reply(next.questions[0]?.requestId ?? "", { ok: true, resultJson: '"went"' });
  t.is(await next.result(1n), "went");
  t.is(runs, 1);
});

test("opening a run that another stream holds ends that stream with RUN_TAKEN_OVER", async (t) => {
  const slow = gate<string>();
  const port = portOf({ t: { execute: () => slow.promise } }, { journal: memoryJournal() });
  const first = open(port, { onDisconnect: "continue" });
  first.session.call(1n, requestOf("t", { callId: "c" }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const second = open(port, { onDisconnect: "continue" });
  t.is(first.closed?.fault?.code, "RUN_TAKEN_OVER");
  second.session.call(9n, requestOf("t", { callId: "c" }));
  slow.open("S");
  t.is(await second.result(9n), "S");
  t.is(first.ends.size, 0);
});

test("with CONTINUE the grace is bounded", async (t) => {
  let signal: AbortSignal | undefined;
  const port = portOf(
    {
      t: {
        execute: (_, context) => {
          signal = context.signal;
          return new Promise(() => {});
        },
      },
    },
    { journal: memoryJournal(), continueGraceMs: 20 },
  );
  const stream = open(port, { onDisconnect: "continue" });
  stream.session.call(1n, requestOf("t"));
  await until(() => signal !== undefined);
  stream.session.leave("disconnected");
  t.false(signal?.aborted);
  await until(() => signal?.aborted === true);
  t.false(open(port).resumed);
});

test("a slow stream holds its own calls back and no other's", async (t) => {
  const port = portOf({
    t: {
      execute: async function* () {
        for (let n = 0; n < 5; n += 1) yield "x";
      },
    },
  });
  const slow = open(port);
  const quick = open(port, { runId: "other" });
  slow.takes = false;
  for (const tag of [1n, 2n, 3n]) slow.session.call(tag, requestOf("t"));
  quick.session.call(1n, requestOf("t"));
  await quick.result(1n);
  t.is(slow.ends.size, 0);
  t.true(slow.events.length <= 3);
  slow.takes = true;
  slow.session.resume();
  for (const tag of [1n, 2n, 3n]) t.is(await slow.result(tag), "x");
  t.is(slow.events.length, 15);
});

test("closing the port ends every stream with the fault given", (t) => {
  const port = portOf({});
  const stream = open(port);
  port.close(
    Object.assign(new Error("bye"), {
      code: "DRAINING",
      started: "no",
      retryAfterMs: undefined,
    }) as ToolPortError,
  );
  t.is(stream.closed?.fault?.code, "DRAINING");
  t.is(open(port, { runId: "new" }).closed?.fault?.code, "DRAINING");
});
