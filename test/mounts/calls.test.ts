import test from "ava";

import { ErrorKind } from "../../src/wire/v1.ts";
import { until } from "../field/world.ts";
import { folder, linesOf, listed, scripted, serveMounts, story } from "./world.ts";

const said = (text: string): object => ({ content: [{ type: "text", text }] });

for (const [era, args] of [
  ["older", []],
  ["newer", ["newest"]],
] as const) {
  test(`a server of the ${era} era is mounted and called`, async (t) => {
    const { call, names } = await serveMounts(t, [
      era === "older"
        ? scripted({ pages: [{ tools: [listed("echo")] }], answers: { echo: said("hé") } })
        : story({}, ...args),
    ]);
    t.true((await names()).includes("echo"));
    t.is((await call("echo", '{"text":"hé"}')).result, "hé");
  });
}

test("B48: a call goes on for as long as it may, and its progress is on the stream", async (t) => {
  const { follow } = await serveMounts(t, [story()]);
  const { events, call } = await follow("steps", '{"ms":300}');
  t.is(call.result, "done");
  t.deepEqual(
    events.flatMap((event) =>
      event.case === "progress" ? [[event.value.done, event.value.total, event.value.message]] : [],
    ),
    [
      [1, 3, "step 1"],
      [2, 3, "step 2"],
      [3, 3, "step 3"],
    ],
  );
});

test.serial("B48: the only time limits of a call are toolport's own", async (t) => {
  const { client, call } = await serveMounts(t, [story()]);
  const real = globalThis.setTimeout;
  const limits: unknown[] = [];
  globalThis.setTimeout = ((run: () => void, ms?: number, ...rest: unknown[]) => {
    if (new Error("here").stack?.includes("@modelcontextprotocol")) limits.push(ms);
    return real(run, ms, ...rest);
  }) as typeof setTimeout;
  t.teardown(() => {
    globalThis.setTimeout = real;
  });
  t.is((await call("echo", '{"text":"a"}')).result, "a");
  // The longest that a timer can wait.
  t.deepEqual(limits, [2 ** 31 - 1]);
  const silent = client.execute({ name: "sleep" }, { timeoutMs: 100 });
  t.is((await silent.result).errorKind, ErrorKind.TIMED_OUT);
});

test("progress that comes with the answer is told before it", async (t) => {
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"toolport-2","progress":1,"message":"last"}}';
  const answer = '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}';
  const { follow } = await serveMounts(t, [
    scripted({
      pages: [{ tools: [listed("quick")] }],
      answers: { quick: `${progress}\n${answer}` },
    }),
  ]);
  const { events } = await follow("quick");
  t.deepEqual(
    events.map((event) => event.case),
    ["progress", "call"],
  );
});

for (const era of ["older", "newer"] as const) {
  test(`B52: a cancelled call is cancelled on a server of the ${era} era, and no other call with it`, async (t) => {
    const log = `${folder(t)}/log`;
    const { client, call, follow } = await serveMounts(t, [
      era === "newer"
        ? story({ env: { STORY_LOG: log } }, "newest")
        : scripted({
            log,
            pages: [{ tools: [listed("sleep"), listed("echo"), listed("steps")] }],
            answers: { sleep: "nothing", echo: said("here"), steps: said("done") },
          }),
    ]);
    const other = follow("steps", '{"ms":600}');
    const asleep = client.execute({ name: "sleep" });
    await until(() => linesOf(log).some((line) => /sleeping|tools\/call.*sleep/u.test(line)));
    asleep.cancel();
    await t.throwsAsync(asleep.result, { code: "CANCELLED" });
    await until(() => linesOf(log).some((line) => /woken|notifications\/cancelled/u.test(line)));
    t.is((await other).call.result, "done");
    t.is((await call("echo", '{"text":"here"}')).result, "here");
  });
}

test("B77: what a server prints beside the protocol is skipped and logged, and harms nothing", async (t) => {
  const { names, call, logged } = await serveMounts(t, [
    scripted({
      name: "chatty",
      noise: { first: "Server v1 ready\n\n42\nnull", each: 'debug {\n{"level":30,"msg":"pino"}' },
      stderr: "a line\nand another",
      pages: [{ tools: [listed("echo")] }],
      answers: { echo: said("fine") },
    }),
  ]);
  t.deepEqual(await names(), ["echo"]);
  t.is((await call("echo")).result, "fine");
  const lines = (event: string): unknown[] =>
    logged
      .filter((entry) => entry.event === event)
      .map(({ fields }) => `${String(fields?.["server"])}: ${String(fields?.["line"])}`);
  t.is(lines("mount_stdout").filter((line) => String(line).endsWith("Server v1 ready")).length, 1);
  t.true(lines("mount_stdout").includes("chatty: debug {"));
  t.true(lines("mount_stdout").includes('chatty: {"level":30,"msg":"pino"}'));
  t.deepEqual(
    lines("mount_stderr").map((line) => String(line).replace(/^.*: /u, "")),
    ["a line", "and another"],
  );
});

test("a server that ends at the newer era's first question is spoken to in the older", async (t) => {
  const { call } = await serveMounts(t, [
    scripted({
      endsAt: "discover",
      pages: [{ tools: [listed("echo")] }],
      answers: { echo: said("fine") },
    }),
  ]);
  t.is((await call("echo")).result, "fine");
});

test("a server that is silent before the handshake is spoken to in the older era", async (t) => {
  const { call } = await serveMounts(t, [
    scripted(
      {
        isSilentBefore: true,
        pages: [{ tools: [listed("echo")] }],
        answers: { echo: said("fine") },
      },
      { listTimeoutMs: 6000 },
    ),
  ]);
  t.is((await call("echo")).result, "fine");
});

test("hundreds of calls at once get each its own answer", async (t) => {
  const { call } = await serveMounts(t, [story()]);
  const texts = Array.from({ length: 300 }, (_, index) => `text ${index}`);
  const answers = await Promise.all(texts.map((text) => call("echo", JSON.stringify({ text }))));
  t.deepEqual(
    answers.map(({ result }) => result),
    texts,
  );
});

test("a server sees no more of this process's environment than it is given", async (t) => {
  process.env["A_SECRET"] = "hidden";
  t.teardown(() => delete process.env["A_SECRET"]);
  const { call } = await serveMounts(t, [
    scripted({ pages: [{ tools: [listed("env")] }], answers: { env: "env" } }),
  ]);
  const { result = "" } = await call("env");
  t.true(result.includes("PATH"));
  t.false(result.includes("A_SECRET"));
});
