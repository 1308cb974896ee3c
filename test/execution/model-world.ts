import type { OnDisconnect, Outcome } from "../../src/domain/call.ts";
import type { ToolContext } from "../../src/domain/tool.ts";
import { createExecutor, type RunExecutor } from "../../src/execution/executor.ts";
import { memoryJournal } from "../../src/journal/memory.ts";
import { Clock } from "./clock.ts";
import { fenced, type Life } from "./model-journal.ts";
import { registryOf, requestOf, type TestTool, Witness } from "./world.ts";

type ToolTraits = Omit<TestTool, "execute">;

/** The tools: what each may do, and so what must never be seen of it. */
export const tools: Readonly<Record<ToolName, ToolTraits>> = {
  once: {},
  again: { idempotent: true },
  single: { limits: { concurrency: 1 } },
  few: { idempotent: true, maxCallsPerInvocation: 2 },
  brief: { idempotent: true, limits: { timeoutMs: 4, concurrency: 1 } },
};

/** The name of a tool. */
export type ToolName = "once" | "again" | "single" | "few" | "brief";

/** A call as the kernel names it. */
export interface Key {
  readonly principal: string;
  readonly tool: ToolName;
  readonly n: number;
}

/** How the kernel asks for it. */
export interface Asking {
  readonly key: Key;
  readonly onDisconnect: OnDisconnect;
  readonly timeoutMs: number | undefined;
  readonly deadlineMs: number | undefined;
}

/** What the contract lets us know of one key. */
interface KeyModel {
  readonly key: Key;
  /** How many bodies were started for it, over all lives of the process. */
  starts: number;
  /** Bodies of this life that have not ended. */
  running: number;
  /** The outcome that some caller has been told: every later one must equal it. */
  told: Outcome | undefined;
  /** Whether a caller was lost that asked for the tool to go on. */
  mayGoOn: boolean;
}

interface Body {
  readonly model: KeyModel;
  readonly context: ToolContext;
  readonly end: (how: "result" | "throw" | "abort") => void;
}

interface Asked {
  readonly model: KeyModel;
  readonly witness: Witness;
  readonly leave: (cause: "cancelled" | "deadline" | "disconnected") => void;
}

/** The faults that a caller here may be told; any other is a defect. */
const usual: ReadonlySet<string> = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "DRAINING",
  "JOURNAL_UNAVAILABLE",
]);

/** A kernel, a sidecar over several lives, and what must hold between them. */
export class World {
  readonly clock: Clock = new Clock();
  /** What was seen that must never be. */
  readonly faults: string[] = [];
  bodies: Body[] = [];
  asked: Asked[] = [];
  readonly #keys = new Map<string, KeyModel>();
  readonly #journal = memoryJournal();
  #life: Life = { isOver: false, troubles: [] };
  #executor: RunExecutor = this.#start();
  #results = 0;
  /** Whether a claim may be in the journal whose tool nobody knows to have started or not. */
  #isShaken = false;

  ask({ key, onDisconnect, timeoutMs, deadlineMs }: Asking): void {
    const model = this.#model(key);
    const witness = new Witness(key.principal);
    const callId = `${key.tool}-${key.n}`;
    const metadata = { principal: key.principal };
    const request = requestOf(key.tool, { runId: "r", callId, onDisconnect, timeoutMs, metadata });
    const ticket = this.#executor.execute(request, witness, deadlineMs);
    const goesOn = onDisconnect === "continue";
    this.asked.push({
      model,
      witness,
      leave: (cause) => {
        if (goesOn && cause === "disconnected") model.mayGoOn = true;
        ticket.leave(cause);
      },
    });
  }

  /** The disk fails the next operations, each before or after it has carried it out. */
  trouble(troubles: readonly boolean[]): void {
    this.#isShaken = true;
    this.#life.troubles.push(...troubles);
  }

  /** The process dies; nobody in it is told anything more. */
  async crash(): Promise<void> {
    this.asked = [];
    await this.#restart();
  }

  /** The process shuts down in order, and another one starts. */
  async drain(graceMs: number): Promise<void> {
    const drain = { isOver: false };
    const wait = async (): Promise<void> => {
      await this.#executor.drain(graceMs);
      drain.isOver = true;
    };
    void wait();
    for (let turn = 0; turn < 400 && !drain.isOver; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turn % 8 === 7) this.clock.advance(20);
    }
    if (!drain.isOver) this.faults.push("the drain did not end");
    this.#look();
    if (this.asked.length > 0) this.faults.push(`${this.asked.length} callers outlived the drain`);
    this.asked = [];
    await this.#restart();
  }

  /** Lets everything that can happen without time happen, then looks at it. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    this.#look();
    for (const { model, context } of this.bodies) {
      const isAwaited = this.asked.some((asked) => asked.model === model);
      if (!isAwaited && !model.mayGoOn && !context.signal.aborted) {
        this.faults.push(`${textOf(model.key)} runs for nobody`);
      }
    }
  }

  /** Ends all bodies; then nobody may be left waiting and nothing in flight. */
  async finish(): Promise<void> {
    try {
      await this.#finish();
    } finally {
      this.clock.release();
    }
  }

  async #finish(): Promise<void> {
    this.#life.troubles = [];
    await this.settle();
    for (let round = 0; round < 30 && this.#isBusy(); round += 1) {
      for (const body of this.bodies) body.end("result");
      await this.settle();
      // Whatever is tried again is, within that time.
      this.clock.advance(6000);
    }
    await this.settle();
    if (this.asked.length > 0) this.faults.push(`${this.asked.length} callers were told nothing`);
    const { inFlight, queued } = this.#executor;
    if (inFlight > 0 || queued > 0)
      this.faults.push(`${inFlight} calls are left, ${queued} queued`);
    if (this.clock.waiting > 0) this.faults.push(`${this.clock.waiting} timers are left`);
    await this.#journal.close();
  }

  #isBusy(): boolean {
    return this.#executor.inFlight > 0 || this.asked.length > 0;
  }

  #start(): RunExecutor {
    const life: Life = { isOver: false, troubles: [] };
    this.#life = life;
    const made = Object.entries(tools).map(([name, tool]) => {
      const execute = (_: unknown, context: ToolContext) => this.#run(context, life);
      return [name, { ...tool, execute }] as const;
    });
    return createExecutor({
      registry: registryOf(Object.fromEntries(made)),
      journal: fenced(this.#journal, life),
      enforceBudgets: true,
      continueGraceMs: 20,
    });
  }

  async #restart(): Promise<void> {
    this.#isShaken = true;
    this.#life.isOver = true;
    for (const model of this.#keys.values()) {
      model.running = 0;
      model.mayGoOn = false;
    }
    this.bodies = [];
    for (const entry of await this.#journal.list({ limit: 1000 })) {
      if (entry.state !== "running") continue;
      await this.#journal.end(entry, entry.attempt, { kind: "lost" });
    }
    // The timers of that life have gone with it.
    this.clock.clear();
    this.#executor = this.#start();
  }

  #run(context: ToolContext, life: Life): Promise<string> {
    if (life.isOver) return new Promise(() => {});
    const model = this.#modelOf(context);
    model.starts += 1;
    model.running += 1;
    this.#checkStart(model);
    return new Promise((resolve, reject) => {
      const body: Body = {
        model,
        context,
        end: (how) => {
          this.bodies = this.bodies.filter((other) => other !== body);
          if (life.isOver) return;
          model.running -= 1;
          const { signal } = context;
          this.#results += 1;
          if (how === "result") resolve(`result ${this.#results}`);
          else if (how === "throw") reject(new RangeError(`failure ${this.#results}`));
          else
            reject(signal.aborted ? (signal.reason as Error) : new DOMException("", "AbortError"));
        },
      };
      this.bodies.push(body);
    });
  }

  #checkStart({ key, starts, running, told }: KeyModel): void {
    const { tool, principal } = key;
    const { idempotent = false, maxCallsPerInvocation = Infinity, limits } = tools[tool];
    const name = textOf(key);
    if (running > 1) this.faults.push(`two bodies of ${name} at once`);
    if (!idempotent && starts > 1) this.faults.push(`${name} started twice`);
    if (told) this.faults.push(`${name} started after its outcome was told`);
    const ofTool = [...this.#keys.values()].filter((model) => model.key.tool === tool);
    const atOnce = ofTool.reduce((sum, model) => sum + model.running, 0);
    if (atOnce > (limits?.concurrency ?? Infinity))
      this.faults.push(`${atOnce} of ${tool} at once`);
    const started = ofTool.filter((model) => model.key.principal === principal && model.starts > 0);
    if (started.length > maxCallsPerInvocation) this.faults.push(`${started.length} of ${tool}`);
  }

  #look(): void {
    for (const { model, witness } of this.asked) {
      const end = witness.end_;
      if (end?.kind === "fault" && !usual.has(end.fault.code)) {
        this.faults.push(`${textOf(model.key)} was told ${end.fault.code}: ${end.fault.message}`);
      }
      if (end?.kind === "outcome") this.#told(model, end.outcome);
    }
    this.asked = this.asked.filter(({ witness }) => !witness.end_);
  }

  #told(model: KeyModel, outcome: Outcome): void {
    const name = textOf(model.key);
    model.told ??= outcome;
    if (outcomeText(outcome) !== outcomeText(model.told)) {
      this.faults.push(`${name} was told ${outcomeText(model.told)}, then ${outcomeText(outcome)}`);
    }
    const isUnknown = !outcome.ok && outcome.errorKind === "INDETERMINATE";
    if (isUnknown && model.starts === 0 && !this.#isShaken) {
      this.faults.push(`${name} is INDETERMINATE and never started`);
    }
    const isExhausted = !outcome.ok && outcome.errorKind === "BUDGET_EXHAUSTED";
    if (isExhausted && model.starts > 0)
      this.faults.push(`${name} was refused what had been counted`);
    if (isExhausted && model.key.tool !== "few") this.faults.push(`${name} has no budget`);
  }

  #model(key: Key): KeyModel {
    const text = textOf(key);
    const known = this.#keys.get(text);
    if (known) return known;
    const model = { key, starts: 0, running: 0, told: undefined, mayGoOn: false };
    this.#keys.set(text, model);
    return model;
  }

  #modelOf({ callId, metadata }: ToolContext): KeyModel {
    const model = this.#keys.get(`${metadata["principal"]}/${callId}`);
    if (!model) throw new Error(`nobody asked for ${callId}`);
    return model;
  }
}

function textOf({ principal, tool, n }: Key): string {
  return `${principal}/${tool}-${n}`;
}

/** An outcome without what may differ between being told it and being told it again. */
function outcomeText(outcome: Outcome): string {
  const said = outcome.ok ? outcome.result : `${outcome.errorKind} ${outcome.error}`;
  return `${said} (attempt ${outcome.attempt}, ${outcome.durationMs} ms)`;
}
