import test from "ava";
import fc from "fast-check";
import type { Outcome } from "../../src/domain/call.ts";
import { createExecutor, type RunExecutor } from "../../src/execution/executor.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { registryOf, requestOf, Witness } from "./world.ts";

// A kernel asks, leaves and asks again; bodies end as they like; the process crashes and starts
// again. The model knows only what the contract promises of each key.

/** What the contract lets us know of one key. */
interface KeyModel {
  /** How many bodies were started for it, over all lives of the process. */
  starts: number;
  /** Bodies of this life that have not ended. */
  running: number;
  /** The outcome that some caller has been told: every later one must equal it. */
  told: Outcome | undefined;
}

interface Body {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly end: (how: "result" | "throw" | "abort") => void;
}

interface Asked {
  readonly key: string;
  readonly witness: Witness;
  readonly leave: (cause: "cancelled" | "deadline" | "disconnected") => void;
}

class World {
  readonly keys = new Map<string, KeyModel>();
  readonly faults: string[] = [];
  bodies: Body[] = [];
  asked: Asked[] = [];
  executor: RunExecutor;
  #journal = memoryJournal();
  #life = { isOver: false };
  #results = 0;

  constructor() {
    this.executor = this.#start();
  }

  #start(): RunExecutor {
    const life = { isOver: false };
    this.#life = life;
    const tool = (idempotent: boolean) => ({
      idempotent,
      execute: (args: unknown, { callId, signal }: { callId: string; signal: AbortSignal }) =>
        life.isOver ? new Promise(() => {}) : this.#run(callId, signal, life, args),
    });
    const registry = registryOf({ once: tool(false), again: tool(true) });
    return createExecutor({ registry, journal: fenced(this.#journal, life), continueGraceMs: 1e6 });
  }

  #run(
    key: string,
    signal: AbortSignal,
    life: { isOver: boolean },
    _args: unknown,
  ): Promise<string> {
    const model = this.model(key);
    model.starts += 1;
    model.running += 1;
    if (model.running > 1) this.faults.push(`two bodies of ${key} at once`);
    if (key.startsWith("once") && model.starts > 1) this.faults.push(`${key} started twice`);
    if (model.told) this.faults.push(`${key} started after its outcome was told`);
    return new Promise((resolve, reject) => {
      const body: Body = {
        key,
        signal,
        end: (how) => {
          this.bodies = this.bodies.filter((other) => other !== body);
          if (life.isOver) return;
          model.running -= 1;
          if (how === "result") resolve(`result ${(this.#results += 1)}`);
          else if (how === "throw") reject(new RangeError(`failure ${(this.#results += 1)}`));
          else
            reject(signal.aborted ? (signal.reason as Error) : new DOMException("", "AbortError"));
        },
      };
      this.bodies.push(body);
    });
  }

  model(key: string): KeyModel {
    const model = this.keys.get(key) ?? { starts: 0, running: 0, told: undefined };
    this.keys.set(key, model);
    return model;
  }

  ask(key: string, onDisconnect: "abort" | "continue"): void {
    const witness = new Witness();
    const name = key.startsWith("once") ? "once" : "again";
    const request = requestOf(name, { runId: "r", callId: key, onDisconnect });
    const ticket = this.executor.execute(request, witness);
    this.asked.push({ key, witness, leave: (cause) => ticket.leave(cause) });
  }

  async crash(): Promise<void> {
    this.#life.isOver = true;
    for (const model of this.keys.values()) model.running = 0;
    this.bodies = [];
    // Nobody in the old life is told anything more; a fenced journal answers nobody.
    this.asked = [];
    for (const entry of await this.#journal.list({ limit: 1000 })) {
      if (entry.state === "running")
        await this.#journal.end(entry, entry.attempt, { kind: "lost" });
    }
    // Only to stop its timers: what it would write or say is fenced off.
    void this.executor.drain(0);
    this.executor = this.#start();
  }

  /** Lets everything that can happen happen, then looks at what callers were told. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    for (const { key, witness } of this.asked) {
      if (witness.end_?.kind !== "outcome") continue;
      const { outcome } = witness.end_;
      const model = this.model(key);
      model.told ??= outcome;
      if (text(outcome) !== text(model.told)) {
        this.faults.push(`${key} was told ${text(model.told)} and then ${text(outcome)}`);
      }
    }
    this.asked = this.asked.filter(({ witness }) => !witness.end_);
  }

  /** Ends all bodies; then nobody may be left waiting and nothing in flight. */
  async finish(): Promise<void> {
    await this.settle();
    for (let round = 0; round < 10 && this.executor.inFlight > 0; round += 1) {
      for (const body of this.bodies) body.end("result");
      await this.settle();
    }
    if (this.asked.length > 0) this.faults.push(`${this.asked.length} callers were told nothing`);
    if (this.executor.inFlight > 0) this.faults.push(`${this.executor.inFlight} calls are left`);
    await this.executor.drain(0);
  }
}

/** A journal that stands for the disk of one life: after the crash it neither changes nor answers. */
function fenced(journal: Journal, life: { isOver: boolean }): Journal {
  const guard =
    <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (life.isOver) return new Promise<R>(() => {});
      const result = await act(...args);
      await new Promise((resolve) => setImmediate(resolve));
      return life.isOver ? new Promise<R>(() => {}) : result;
    };
  return {
    isDurable: journal.isDurable,
    lookup: guard((key) => journal.lookup(key)),
    claim: guard((claim) => journal.claim(claim)),
    end: guard((key, attempt, ending) => journal.end(key, attempt, ending)),
    started: guard((run, tool) => journal.started(run, tool)),
    touch: guard((run) => journal.touch(run)),
    list: guard((filter) => journal.list(filter)),
    prune: guard(() => journal.prune()),
    close: guard(() => journal.close()),
  };
}

type Step =
  | { readonly do: "ask"; readonly key: string; readonly onDisconnect: "abort" | "continue" }
  | {
      readonly do: "leave";
      readonly nth: number;
      readonly cause: "cancelled" | "deadline" | "disconnected";
    }
  | { readonly do: "end"; readonly nth: number; readonly how: "result" | "throw" | "abort" }
  | { readonly do: "crash" };

const step: fc.Arbitrary<{ readonly step: Step; readonly settles: boolean }> = fc.record({
  step: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("ask" as const),
        key: fc.constantFrom("once-1", "once-2", "again-1", "again-2"),
        onDisconnect: fc.constantFrom("abort" as const, "continue" as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("leave" as const),
        nth: fc.nat(5),
        cause: fc.constantFrom("cancelled" as const, "deadline" as const, "disconnected" as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("end" as const),
        nth: fc.nat(5),
        how: fc.constantFrom("result" as const, "throw" as const, "abort" as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
  ),
  settles: fc.boolean(),
});

test("whatever is asked, left, ended and crashed: one start, one end, one outcome a key", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const world = new World();
      for (const { step: next, settles } of steps) {
        if (next.do === "ask") world.ask(next.key, next.onDisconnect);
        else if (next.do === "leave")
          world.asked[next.nth % Math.max(world.asked.length, 1)]?.leave(next.cause);
        else if (next.do === "end")
          world.bodies[next.nth % Math.max(world.bodies.length, 1)]?.end(next.how);
        else await world.crash();
        if (settles) await world.settle();
      }
      await world.finish();
      return world.faults.length === 0 || Promise.reject(new Error(world.faults.join("; ")));
    }),
    { numRuns: Number(process.env["MODEL_RUNS"] ?? 2000) },
  );
  t.pass();
});

/** An outcome without what may differ between being told it and being told it again. */
function text(outcome: Outcome): string {
  const said = outcome.ok ? outcome.result : `${outcome.errorKind} ${outcome.error}`;
  return `${said} (attempt ${outcome.attempt}, ${outcome.durationMs} ms)`;
}
