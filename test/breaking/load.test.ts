import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import test from "ava";
import type { ToolContext } from "../../src/domain/tool.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { ask, executorOf, requestOf, type TestTool, until } from "../execution/world.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Tools that end in every way there is. */
function mixed(made: WeakRef<ToolContext>[]): Readonly<Record<string, TestTool>> {
  const noted =
    (execute: TestTool["execute"]): TestTool["execute"] =>
    (args, context) => {
      made.push(new WeakRef(context));
      return execute(args, context);
    };
  const untilAborted = (_: unknown, { signal }: ToolContext): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  return {
    quick: { execute: noted(() => "ok"), maxCallsPerInvocation: 1_000_000 },
    later: { execute: noted(() => new Promise((resolve) => setImmediate(resolve, "ok"))) },
    throws: {
      execute: noted(() => {
        throw new RangeError("no");
      }),
      maxCallsPerInvocation: 10,
    },
    timed: { execute: noted(untilAborted), limits: { timeoutMs: 5 } },
    aborted: { execute: noted(untilAborted), idempotent: true },
    yields: {
      execute: noted(async function* () {
        yield 1;
        yield 2;
      }),
      limits: { concurrency: 8 },
    },
    refuses: { execute: noted(() => "never"), check: () => ({ ok: false, message: "no" }) },
  };
}

for (const journal of [undefined, memoryJournal()]) {
  test.serial(
    `twenty thousand calls that end in every way leave nothing behind, ${journal ? "with" : "without"} a journal`,
    async (t) => {
      const made: WeakRef<ToolContext>[] = [];
      const tools = mixed(made);
      const executor = executorOf(tools, {
        journal,
        enforceBudgets: true,
        slots: { inFlight: 500, queued: 5000 },
        continueGraceMs: 5,
      });
      const names = [...Object.keys(tools), "unknown"];
      const kinds = new Map<string, number>();
      const countOf = (kind: string): number => kinds.get(kind) ?? 0;
      for (let round = 0; round < 20; round += 1) {
        const calls = Array.from({ length: 1000 }, (_, n) => {
          const name = names[n % names.length] as string;
          const isKeyed = n % 3 !== 0;
          const onDisconnect = n % 5 === 0 ? "continue" : "abort";
          // Some ids come twice in a round, so that copies join.
          const keyed = isKeyed ? { runId: `run-${round % 7}`, callId: `${round}-${n >> 1}` } : {};
          const call = ask(
            executor,
            requestOf(name, { ...keyed, onDisconnect }),
            n % 11 === 0 ? 3 : undefined,
          );
          if (name === "aborted" || n % 13 === 0) {
            const cause = n % 2 === 0 ? "cancelled" : "disconnected";
            if (n % 4 === 0) call.ticket.leave(cause);
            else setTimeout(() => call.ticket.leave(cause), n % 7);
          }
          return call;
        });
        for (const { ended } of calls) {
          const end = await ended;
          const kind =
            end.kind === "fault" ? end.fault.code : end.outcome.ok ? "ok" : end.outcome.errorKind;
          kinds.set(kind, countOf(kind) + 1);
        }
      }
      await until(() => executor.inFlight === 0);
      t.is(executor.queued, 0);
      for (let round = 0; round < 7; round += 1) {
        t.false(executor.isRunning({ principal: "", id: `run-${round}` }));
      }
      for (const kind of [
        "ok",
        "RAISED",
        "TIMED_OUT",
        "INVALID_ARGUMENTS",
        "UNKNOWN_TOOL",
        "CANCELLED",
      ]) {
        t.true(countOf(kind) > 0, kind);
      }
      t.true(made.length > 5000);
      // A WeakRef keeps its object until the turn that made it is over.
      for (let turn = 0; turn < 5; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        collect();
      }
      const left = made.filter((ref) => ref.deref() !== undefined).length;
      t.true(left < 20, `${left} of ${made.length} contexts are still held`);
      await executor.drain(0);
    },
  );
}

test.serial("sixteen thousand calls in flight are drained without stalling", async (t) => {
  const executor = executorOf(
    {
      waits: {
        execute: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          }),
      },
    },
    { journal: memoryJournal() },
  );
  const calls = Array.from({ length: 16_000 }, (_, n) =>
    ask(executor, requestOf("waits", { runId: "r", callId: `${n}` })),
  );
  await until(() => executor.inFlight === 16_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await executor.drain(10);
  const faults = await Promise.all(calls.map((call) => call.fault()));
  t.true(faults.every(({ code }) => code === "DRAINING"));
  await until(() => executor.inFlight === 0);
});
