import test from "ava";
import type { ToolContext } from "../../src/domain/tool.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import {
  ask,
  executorOf,
  gate,
  requestOf,
  type TestTool,
  until,
  Witness,
} from "../execution/world.ts";

// Several callers of one call: what each asked for holds for its own part, and no part hurts another.

const keyed = (rest = {}) => requestOf("t", { runId: "r", callId: "c", ...rest });

/** A tool that ends by hand, or as its signal fires. */
function held(): {
  readonly tool: TestTool;
  readonly contexts: ToolContext[];
  end(text: string): void;
} {
  const contexts: ToolContext[] = [];
  const result = gate<string>();
  const execute = (_: unknown, context: ToolContext): Promise<string> => {
    contexts.push(context);
    context.signal.addEventListener("abort", () => result.fail(context.signal.reason));
    return result.promise;
  };
  return { tool: { execute }, contexts, end: result.open };
}

function slow(): Witness {
  return Object.assign(new Witness(), { takes: false });
}

test("a joiner's time limit and deadline are its own: neither ends the call", async (t) => {
  const { tool, contexts, end } = held();
  const executor = executorOf({ t: tool }, { journal: memoryJournal() });
  const first = ask(executor, keyed());
  await until(() => contexts.length === 1);
  const hurried = ask(executor, keyed({ timeoutMs: 1 }));
  const late = ask(executor, keyed(), 10);
  t.like(await late.fault(), { code: "DEADLINE_EXCEEDED", started: "yes" });
  t.false(contexts[0]?.signal.aborted);
  end("R");
  t.like(await first.outcome(), { result: "R" });
  t.like(await hurried.outcome(), { result: "R" });
});

test("of a large result each caller gets what it can take, replayed too", async (t) => {
  const { tool, contexts, end } = held();
  const options = { journal: memoryJournal(), maxResultBytes: 1000 };
  const executor = executorOf({ t: tool }, options);
  const takes = ask(executor, keyed({ acceptChunks: true }));
  await until(() => contexts.length === 1);
  const small = ask(executor, keyed());
  end("x".repeat(2000));
  t.true((await takes.outcome()).ok);
  t.like(await small.outcome(), { errorKind: "RESULT_TOO_LARGE" });
  t.true((await ask(executor, keyed({ acceptChunks: true })).outcome()).ok);
  t.like(await ask(executor, keyed()).outcome(), { errorKind: "RESULT_TOO_LARGE", replayed: true });
});

test("one joiner's lost connection is waited for, whatever another one's cancel says", async (t) => {
  const { tool, contexts, end } = held();
  const executor = executorOf({ t: tool }, { journal: memoryJournal() });
  const lost = ask(executor, keyed({ onDisconnect: "continue" }));
  await until(() => contexts.length === 1);
  const other = ask(executor, keyed());
  lost.ticket.leave("disconnected");
  other.ticket.leave("cancelled");
  t.false(contexts[0]?.signal.aborted);
  const retry = ask(executor, keyed({ onDisconnect: "continue" }));
  end("kept");
  t.like(await retry.outcome(), { result: "kept", attempt: 1, replayed: false });
});

test("a retry that cancels aborts the tool, though its first connection was to be waited for", async (t) => {
  const { tool, contexts } = held();
  const executor = executorOf({ t: tool }, { journal: memoryJournal() });
  const lost = ask(executor, keyed({ onDisconnect: "continue" }));
  await until(() => contexts.length === 1);
  lost.ticket.leave("disconnected");
  ask(executor, keyed({ onDisconnect: "continue" })).ticket.leave("cancelled");
  t.true(contexts[0]?.signal.aborted);
  await until(() => executor.inFlight === 0);
});

test("leaving twice is leaving once, also when the second cause is a harder one", async (t) => {
  const { tool, contexts, end } = held();
  const executor = executorOf({ t: tool }, { journal: memoryJournal() });
  const lost = ask(executor, keyed({ onDisconnect: "continue" }));
  await until(() => contexts.length === 1);
  lost.ticket.leave("disconnected");
  lost.ticket.leave("cancelled");
  t.false(contexts[0]?.signal.aborted);
  end("kept");
  await until(() => executor.inFlight === 0);
  t.like(await ask(executor, keyed()).outcome(), { result: "kept", replayed: true });
});

test("a grace that passes while somebody waits ends nothing", async (t) => {
  const { tool, contexts, end } = held();
  const executor = executorOf({ t: tool }, { journal: memoryJournal(), continueGraceMs: 10 });
  const lost = ask(executor, keyed({ onDisconnect: "continue" }));
  await until(() => contexts.length === 1);
  const stays = ask(executor, keyed());
  lost.ticket.leave("disconnected");
  await new Promise((resolve) => setTimeout(resolve, 30));
  end("R");
  t.like(await stays.outcome(), { result: "R" });
});

test("a joiner that does not read holds up neither the tool nor the others, and is told to ask again", async (t) => {
  const pieces = 40;
  const executor = executorOf(
    {
      t: {
        async *execute() {
          for (let n = 0; n < pieces; n += 1) yield "x".repeat(1 << 20);
          return "done";
        },
      },
    },
    { journal: memoryJournal() },
  );
  const quick = ask(executor, keyed());
  const stuck = ask(executor, keyed(), undefined, slow());
  t.like(await quick.outcome(), { result: "done" });
  t.is(quick.events.length, pieces);
  t.like(await stuck.fault(), { code: "OVERLOADED", started: "yes" });
  t.like(await ask(executor, keyed()).outcome(), { result: "done", replayed: true });
});

test("a slow reader that catches up gets everything, in order, and may resume as it is told", async (t) => {
  const executor = executorOf({
    t: {
      execute: (_, { output }) => {
        for (let n = 0; n < 100; n += 1) void output(n);
        return "done";
      },
    },
  });
  class Eager extends Witness {
    resume = (): void => {};
    override event(event: Parameters<Witness["event"]>[0]): boolean {
      super.event(event);
      this.resume();
      return this.takes;
    }
  }
  const eager = Object.assign(new Eager(), { takes: false });
  const { ticket } = ask(executor, requestOf("t"), undefined, eager);
  eager.resume = () => ticket.resume();
  while (!eager.end_) ticket.resume();
  t.deepEqual(
    eager.events.map((event) => (event.kind === "json" ? Number(event.json) : -1)),
    Array.from({ length: 100 }, (_, n) => n),
  );
});

test("progress that is merged takes no room from output", async (t) => {
  const executor = executorOf({
    t: {
      execute: (_, { progress, output }) => {
        for (let n = 0; n < 20_000; n += 1) progress(n, undefined, "m".repeat(1000));
        void output("x");
        return "done";
      },
    },
  });
  const behind = slow();
  const { ticket } = ask(executor, requestOf("t"), undefined, behind);
  while (!behind.end_) ticket.resume();
  t.like(await behind.outcome(), { result: "done" });
  t.like(behind.events.at(-1), { kind: "text", text: "x" });
  t.like(behind.events.at(-2), { kind: "progress", done: 19_999 });
});

test("a caller that throws hurts nobody else, and one that can't take its end is told a fault", async (t) => {
  const { tool, contexts, end } = held();
  const lines: string[] = [];
  const executor = executorOf(
    { t: tool },
    { journal: memoryJournal(), log: (_level, event) => lines.push(event) },
  );
  class Broken extends Witness {
    override event(): boolean {
      throw new Error("no event");
    }
    override end(given: Parameters<Witness["end"]>[0]): void {
      if (given.kind === "outcome") throw new Error("no outcome");
      super.end(given);
    }
  }
  const broken = ask(executor, keyed(), undefined, new Broken());
  await until(() => contexts.length === 1);
  const sound = ask(executor, keyed());
  await contexts[0]?.output("x");
  end("R");
  t.like(await sound.outcome(), { result: "R" });
  t.is(sound.events.length, 1);
  t.like(await broken.fault(), { code: "INTERNAL" });
  await until(() => executor.inFlight === 0);
  t.true(lines.includes("a caller could not be told"));
});

test("many slow readers together keep a bounded backlog", async (t) => {
  const chunk = "x".repeat(1 << 20);
  const executor = executorOf({
    t: {
      execute: async (_, { output, signal }) => {
        for (let n = 0; n < 7 && !signal.aborted; n += 1) void output(chunk);
        await Promise.resolve();
        return "done";
      },
    },
  });
  const calls = Array.from({ length: 100 }, () => {
    const behind = slow();
    const { ticket } = ask(executor, requestOf("t"), undefined, behind);
    return { behind, ticket };
  });
  await until(() => executor.inFlight === 0);
  const ends = { ok: 0, failed: 0, waited: 0 };
  for (const { behind, ticket } of calls) {
    const before = behind.events.length;
    behind.takes = true;
    ticket.resume();
    const outcome = await behind.outcome();
    ends[outcome.ok ? "ok" : "failed"] += 1;
    ends.waited += behind.events.length - before;
  }
  t.true(ends.ok > 10 && ends.failed > 10);
  // 256 MiB for all, and one event for each beyond it; a character is two bytes.
  t.true(ends.waited <= 128 + 100);
  const after = ask(executor, requestOf("t"), undefined, slow());
  await until(() => executor.inFlight === 0);
  while (!after.end_) after.ticket.resume();
  t.like(await after.outcome(), { result: "done" });
});

test("content over the limit is spilled or refused, whether or not text could come in chunks", async (t) => {
  const spilled: number[] = [];
  const executor = executorOf(
    {
      spills: { execute: () => Buffer.alloc(2000), limits: { largeResults: "spill" } },
      refuses: { execute: () => Buffer.alloc(2000) },
    },
    {
      maxResultBytes: 1000,
      maxChunkedBytes: 10_000,
      spill: async ({ content }) => {
        spilled.push(content.length);
        return { result: "spilled", structuredJson: undefined, content: [] };
      },
    },
  );
  for (const acceptChunks of [true, false]) {
    t.like(await ask(executor, requestOf("spills", { acceptChunks })).outcome(), {
      result: "spilled",
    });
    const refused = await ask(executor, requestOf("refuses", { acceptChunks })).outcome();
    t.regex(
      refused.ok ? "" : refused.error,
      /^ResultTooLarge: .* 20\d\d bytes, 1000 are allowed$/u,
    );
  }
  t.deepEqual(spilled, [1, 1]);
});
