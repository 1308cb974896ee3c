import type { CallRequest, Outcome } from "../domain/call.ts";
import type { JsonObject } from "../domain/json.ts";
import type { RunContext } from "../domain/run.ts";
import type { Registry, Tool } from "../domain/tool.ts";
import { isToolPortError, ToolPortError } from "../errors.ts";
import { type Log, silent } from "../internal/log.ts";
import { SlotMap } from "../internal/slot-map.ts";
import { after } from "../internal/timers.ts";
import type { CallKey, Journal, Recorded } from "../journal/journal.ts";
import { pythonRepr } from "../internal/python-text.ts";
import { Budgets } from "./budgets.ts";
import { Backlog } from "./caller-queue.ts";
import { Call, type CallSettings, type CallWatcher, digestOf } from "./call.ts";
import { CallRecord } from "./call-record.ts";
import { failure } from "./describe-error.ts";
import { Pace } from "./pace.ts";
import type { Caller, Executor, Ticket } from "./port.ts";
import { readArguments } from "./read-arguments.ts";
import { type Slot, type SlotLimits, Slots } from "./slots.ts";

// Admission, in the order that the contract gives: parse; look up the record (replay, join, reuse);
// expected digest; look the tool up; validate; budget; slot; claim; start.
//
// I1  From admission to its end a key (principal, run id, call id) is held by one Call, so that two
//     copies are one call whatever they wait for.
// I2  Unknown tools, invalid arguments, and refusals by the queue leave no record.
// I3  After each wait the call may have lost every caller; then nothing more is started, and what
//     was taken (budget, slot, claim) is given back.
// I4  A key is looked up only when no claim of it is being made or given back: a caller that has
//     left does not wait for that, and the next one must not take it for a call that is lost.

/** What an executor needs; everything else has a default. */
export interface ExecutorOptions {
  readonly registry: Registry;
  /** Where claims and outcomes are kept; absent: nothing is. */
  readonly journal?: Journal | undefined;
  readonly log?: Log | undefined;
  /** How many calls run at once, and how many may wait. Default 16384 each. */
  readonly slots?: SlotLimits | undefined;
  /** Whether `maxCallsPerInvocation` is enforced. Default false. */
  readonly enforceBudgets?: boolean | undefined;
  /** How long a call outlives a lost connection where asked to. Default 60 s, in milliseconds. */
  readonly continueGraceMs?: number | undefined;
  /** Default 63 MiB. */
  readonly maxResultBytes?: number | undefined;
  /** Default 256 MiB. */
  readonly maxChunkedBytes?: number | undefined;
  readonly spill?: CallSettings["spill"];
  readonly isolate?: CallSettings["isolate"];
  /** Ends what runs isolated bodies; `drain` awaits it once the signals of what still ran have fired. */
  readonly release?: (() => Promise<void>) | undefined;
}

/** The live run that a call is made on. */
export interface CallRun {
  /**
   * The run as the tool of this call sees it.
   *
   * @param onEnd takes a listener for the call's end
   */
  contextFor(request: CallRequest, onEnd: (listener: () => void) => void): RunContext;
  readonly id: string;
  readonly live: boolean;
}

/** An executor that can also run calls on a live run. */
export interface RunExecutor extends Executor {
  execute(request: CallRequest, caller: Caller, deadlineMs?: number, run?: CallRun): Ticket;
  /** How many calls wait for a slot. */
  readonly queued: number;
  /** Whether a call of the run goes on, be it that nobody waits for it. */
  isRunning(run: { readonly principal: string; readonly id: string }): boolean;
}

/** Makes an executor over a frozen registry. */
export function createExecutor(options: ExecutorOptions): RunExecutor {
  return new CallExecutor(options);
}

/** How many bytes of output may wait for slow readers, all calls together. */
const maxBacklogBytes = 256 << 20;

const unwatched: CallWatcher = Object.freeze({ gone() {}, over() {} });
const idleTicket: Ticket = Object.freeze({ leave() {}, resume() {} });

class CallExecutor implements RunExecutor {
  readonly #registry: Registry;
  readonly #journal: Journal | undefined;
  readonly #log: Log;
  readonly #slots: Slots;
  readonly #budgets: Budgets | undefined;
  readonly #settings: CallSettings;
  readonly #release: (() => Promise<void>) | undefined;
  /** By their numbers. */
  readonly #calls = new SlotMap<number, Call>();
  readonly #byKey = new SlotMap<string, Call>();
  readonly #watcher: CallWatcher = {
    gone: (call) => this.#gone(call),
    over: () => this.#quieter(),
  };
  #lastNumber = 0;
  /** The keys that are being claimed or given back, each with what resolves when that is over. */
  readonly #claims = new SlotMap<string, Promise<void>>();
  #isDraining = false;
  #isClosed = false;
  readonly #quietWaiters = new Set<() => void>();

  constructor(options: ExecutorOptions) {
    this.#registry = options.registry;
    this.#release = options.release;
    this.#journal = options.journal;
    this.#log = options.log ?? silent;
    this.#slots = new Slots(options.slots ?? { inFlight: 16_384, queued: 16_384 });
    this.#budgets = options.enforceBudgets ? new Budgets(options.journal) : undefined;
    this.#settings = {
      log: this.#log,
      backlog: new Backlog(maxBacklogBytes, this.#log),
      pace: new Pace(),
      continueGraceMs: options.continueGraceMs ?? 60_000,
      maxResultBytes: options.maxResultBytes ?? 63 << 20,
      maxChunkedBytes: options.maxChunkedBytes ?? 256 << 20,
      spill: options.spill,
      isolate: options.isolate,
    };
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get queued(): number {
    return this.#slots.queued;
  }

  isRunning({ principal, id }: { readonly principal: string; readonly id: string }): boolean {
    const prefix = `${JSON.stringify([principal, id]).slice(0, -1)},`;
    for (const [key, call] of this.#byKey) {
      if (call.isJoinable && key.startsWith(prefix)) return true;
    }
    return false;
  }

  execute(request: CallRequest, caller: Caller, deadlineMs?: number, run?: CallRun): Ticket {
    const refusal = this.#refusal(request, deadlineMs);
    if (refusal) {
      caller.end({ kind: "fault", fault: refusal });
      return idleTicket;
    }
    const args = readArguments(request.argumentsJson);
    if (!args.ok) {
      const call = new Call(request, { number: 0, key: undefined }, this.#settings, unwatched);
      const ticket = call.join(caller, request, deadlineMs);
      call.answer(args.failure);
      return ticket;
    }
    if (request.runId === "") {
      const call = this.#admit(request, undefined);
      const ticket = call.join(caller, request, deadlineMs);
      this.#proceed(new Admission(call, args.value, caller.principal, run));
      return ticket;
    }
    return this.#executeKeyed(request, args.value, caller, deadlineMs, run);
  }

  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    // A body that nobody waits for does not hold the shutdown.
    await this.#within(graceMs, () => this.#isQuiet());
    for (const call of this.#calls.values()) call.abort();
    // Signals have fired; what honours them needs a moment to say so, and the journal to write.
    await this.#within(Math.min(250, graceMs), () => this.#calls.size === 0);
    for (const call of this.#calls.values()) call.dismiss();
    await this.#release?.();
    this.#isClosed = true;
  }

  /** Whether nobody waits for any call. */
  #isQuiet(): boolean {
    for (const call of this.#calls.values()) if (call.isJoinable) return false;
    return true;
  }

  #within(ms: number, holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        timer.stop();
        this.#quietWaiters.delete(check);
        resolve();
      };
      const check = (): void => {
        if (holds()) done();
      };
      const timer = after(ms, done);
      this.#quietWaiters.add(check);
    });
  }

  #quieter(): void {
    for (const check of this.#quietWaiters) check();
  }

  #refusal(request: CallRequest, deadlineMs: number | undefined): ToolPortError | undefined {
    if (this.#isDraining) {
      return new ToolPortError("DRAINING", "the server is shutting down and takes no new calls");
    }
    if (request.callId === "") {
      return new ToolPortError(
        "CALL_ID_MISSING",
        "the request has no call_id; give every call one",
      );
    }
    if (deadlineMs !== undefined && deadlineMs <= 0) {
      return new ToolPortError(
        "DEADLINE_EXCEEDED",
        "the deadline had passed before the call began",
      );
    }
    return undefined;
  }

  #admit(request: CallRequest, key: string | undefined, previous?: Call): Call {
    this.#lastNumber += 1;
    const identity = { number: this.#lastNumber, key };
    const call = new Call(request, identity, this.#settings, this.#watcher, previous);
    this.#calls.set(call.number, call);
    if (key !== undefined) this.#byKey.set(key, call);
    return call;
  }

  #gone(call: Call): void {
    const { number, key } = call;
    this.#calls.delete(number);
    if (key !== undefined && this.#byKey.get(key) === call) {
      // A call that left before its start gives the key back to one whose body still runs.
      const { blocker } = call;
      if (blocker) this.#byKey.set(key, blocker);
      else this.#byKey.delete(key);
    }
    this.#quieter();
  }

  #executeKeyed(
    request: CallRequest,
    args: JsonObject,
    caller: Caller,
    deadlineMs: number | undefined,
    run: CallRun | undefined,
  ): Ticket {
    const key = keyText(caller.principal, request);
    const current = this.#byKey.get(key);
    const mayConflict = current && (current.isJoinable || this.#journal);
    if (mayConflict && current.digest !== digestOf(request)) {
      caller.end({ kind: "fault", fault: reused(request) });
      return idleTicket;
    }
    if (current?.isJoinable) return current.join(caller, request, deadlineMs);
    const blocker = current?.blocker;
    const call = this.#admit(request, key, blocker);
    const ticket = call.join(caller, request, deadlineMs);
    const admission = new Admission(call, args, caller.principal, run);
    if (!this.#journal) this.#proceed(admission);
    else void this.#lookUp(admission, this.#journal, blocker);
    return ticket;
  }

  /** @param previous an earlier call of the same key whose body may still run */
  async #lookUp(admission: Admission, journal: Journal, previous: Call | undefined): Promise<void> {
    const { call } = admission;
    try {
      await previous?.whenLost();
      let recorded = await this.#recorded(admission, journal);
      // A second attempt starts only when the first has really ended; who gets none has nothing to
      // wait for.
      if (previous && recorded?.state === "lost" && this.#mayRunAgain(recorded)) {
        await previous.whenGone();
        recorded = await this.#recorded(admission, journal);
      }
      if (recorded) await this.#follow(admission, journal, recorded);
    } catch (cause) {
      call.fail(unavailable(call.request, cause));
    }
  }

  /** What the journal says of a call's key; undefined once nobody waits for the call. */
  async #recorded(admission: Admission, journal: Journal): Promise<Recorded | undefined> {
    const { call, key } = admission;
    await this.#claims.get(keyText(key.principal, key));
    if (!call.isWaiting) return undefined;
    const recorded = await journal.lookup(key);
    return call.isWaiting ? recorded : undefined;
  }

  #mayRunAgain(recorded: {
    readonly idempotent: boolean;
    readonly manifestDigest: string;
  }): boolean {
    return recorded.idempotent && recorded.manifestDigest === this.#registry.digest;
  }

  async #follow(admission: Admission, journal: Journal, recorded: Recorded): Promise<void> {
    const { call } = admission;
    if (recorded.state === "nothing") return this.#proceed(admission);
    if (recorded.state === "expired") return call.fail(expired(call.request));
    if (recorded.callDigest !== call.digest) return call.fail(reused(call.request));
    if (recorded.state === "done") return call.answer({ ...recorded.outcome, replayed: true });
    if (recorded.state === "running") {
      await journal.end(admission.key, recorded.attempt, { kind: "lost" });
    }
    // A call counts once, however many attempts it takes; the first that was given back is none.
    admission.isCounted = recorded.state !== "released" || recorded.attempt > 1;
    if (recorded.state === "released" || this.#mayRunAgain(recorded)) {
      return this.#proceed(admission);
    }
    const outcome = indeterminate(recorded);
    const kept = await journal.end(admission.key, recorded.attempt, { kind: "outcome", outcome });
    if (kept === "recorded") return call.answer({ ...outcome, replayed: true });
    // The real outcome came in between.
    return this.#follow(admission, journal, await journal.lookup(admission.key));
  }

  #proceed(admission: Admission): void {
    const { call, run } = admission;
    const { request } = call;
    if (request.expectedDigest !== "" && request.expectedDigest !== this.#registry.digest) {
      return call.fail(
        new ToolPortError(
          "DIGEST_MISMATCH",
          `the set that is served has the digest ${this.#registry.digest}, not ${request.expectedDigest}`,
        ),
      );
    }
    const tool = this.#registry.get(request.name);
    if (!tool) {
      return call.answer({
        errorKind: "UNKNOWN_TOOL",
        error: `unknown tool ${pythonRepr(request.name)}`,
      });
    }
    if (tool.descriptor.runAware && !run?.live) return call.fail(runFault(request, run));
    const checked = tool.check(admission.args);
    if (!(checked instanceof Promise)) return this.#checked(admission, tool, checked);
    checked.then(
      (check) => this.#checked(admission, tool, check),
      (cause: unknown) => call.fail(internal(request, cause)),
    );
    return undefined;
  }

  #checked(admission: Admission, tool: Tool, check: Awaited<ReturnType<Tool["check"]>>): void {
    const { call } = admission;
    if (!call.isWaiting) return;
    if (!check.ok) return call.answer(failure("INVALID_ARGUMENTS", check.message));
    const max = tool.descriptor.maxCallsPerInvocation;
    if (!this.#budgets || max === null || call.request.runId === "" || admission.isCounted) {
      return this.#queue(admission, tool, check.value);
    }
    void this.#spend(admission, tool, check.value, this.#budgets, max);
    return undefined;
  }

  async #spend(
    admission: Admission,
    tool: Tool,
    args: unknown,
    budgets: Budgets,
    max: number,
  ): Promise<void> {
    const { call, key } = admission;
    const name = tool.descriptor.name;
    try {
      const isLeft = await budgets.take(key, name, max);
      if (isLeft) admission.budget = (started) => budgets.done(key, name, started);
      if (!call.isWaiting) return admission.giveBack();
      if (isLeft) return this.#queue(admission, tool, args);
      const exhausted: Outcome = {
        ok: false,
        ...failure(
          "BUDGET_EXHAUSTED",
          `the run has made all ${max} calls of ${JSON.stringify(name)}`,
        ),
        content: [],
        durationMs: 0,
        attempt: 0,
        replayed: false,
      };
      if (this.#journal) await this.#recordUnrun(admission, this.#journal, tool, exhausted);
      call.answer(exhausted);
    } catch (cause) {
      call.fail(unavailable(call.request, cause));
    }
  }

  /** @returns when the outcome is durable; its key waits until then, however often that fails */
  async #recordUnrun(
    admission: Admission,
    journal: Journal,
    tool: Tool,
    outcome: Outcome,
  ): Promise<void> {
    const { key } = admission;
    const claimed = journal.claim(this.#claimOf(admission, tool));
    const recording = claimed.then(
      ({ attempt }) => new CallRecord(journal, key, attempt, this.#log, () => this.#isClosed),
    );
    const told = recording.then((record) => record.outcome(outcome));
    const kept = Promise.allSettled([told]).then(async () => (await recording).idle());
    this.#holdKey(key, kept);
    await told;
  }

  #queue(admission: Admission, tool: Tool, args: unknown): void {
    const { call } = admission;
    let slot: Slot;
    try {
      slot = this.#slots.acquire(tool.descriptor.name, tool.limits.concurrency);
    } catch (fault) {
      admission.giveBack();
      return call.fail(fault as ToolPortError);
    }
    call.holdSlot(slot);
    if (slot.isHeld) return this.#granted(admission, tool, args);
    slot.onGrant(() => this.#granted(admission, tool, args));
    call.whenGone().then(
      () => admission.giveBack(),
      () => {},
    );
    return undefined;
  }

  #granted(admission: Admission, tool: Tool, args: unknown): void {
    const { call } = admission;
    if (!call.isWaiting) return admission.giveBack();
    const journal = call.key === undefined ? undefined : this.#journal;
    if (!journal) return this.#start(admission, tool, args, 1, undefined);
    this.#holdKey(admission.key, this.#claim(admission, journal, tool, args));
    return undefined;
  }

  async #claim(admission: Admission, journal: Journal, tool: Tool, args: unknown): Promise<void> {
    const { call, key } = admission;
    try {
      const { attempt } = await journal.claim(this.#claimOf(admission, tool));
      const record = new CallRecord(journal, key, attempt, this.#log, () => this.#isClosed);
      if (call.isWaiting) return this.#start(admission, tool, args, attempt, record);
      await record.released();
    } catch (cause) {
      call.fail(unavailable(call.request, cause));
    }
    return admission.giveBack();
  }

  #holdKey(key: CallKey, claim: Promise<void>): void {
    const text = keyText(key.principal, key);
    const settle = async (): Promise<void> => {
      await Promise.allSettled([this.#claims.get(text), claim]);
      if (this.#claims.get(text) === over) this.#claims.delete(text);
    };
    const over = settle();
    this.#claims.set(text, over);
  }

  #claimOf({ call, key }: Admission, tool: Tool): Parameters<Journal["claim"]>[0] {
    return {
      ...key,
      toolName: tool.descriptor.name,
      callDigest: call.digest,
      manifestDigest: this.#registry.digest,
      idempotent: tool.descriptor.idempotent,
    };
  }

  #start(
    admission: Admission,
    tool: Tool,
    args: unknown,
    attempt: number,
    record: CallRecord | undefined,
  ): void {
    const { call, run } = admission;
    // The run may have ended while the call waited for its slot.
    if (tool.descriptor.runAware && !run?.live) {
      if (record) this.#holdKey(admission.key, record.released());
      admission.giveBack();
      return call.fail(runFault(call.request, run));
    }
    const { budget } = admission;
    // Who gives back what did not start finds nothing to give.
    admission.budget = undefined;
    if (budget) void call.whenGone().then(() => budget(true));
    const context = tool.descriptor.runAware
      ? run?.contextFor(call.request, (listener) => call.onEnd(listener))
      : undefined;
    return call.start(tool, args, attempt, record, context, admission.principal);
  }
}

/** A call on its way to its start. */
class Admission {
  readonly call: Call;
  readonly args: JsonObject;
  readonly principal: string;
  readonly run: CallRun | undefined;
  /** Whether an earlier attempt of the call was taken off the budget. */
  isCounted = false;
  /** Settles the place that was taken from the budget. */
  budget: ((started: boolean) => void) | undefined;

  constructor(call: Call, args: JsonObject, principal: string, run: CallRun | undefined) {
    this.call = call;
    this.args = args;
    this.principal = principal;
    this.run = run;
  }

  get key(): CallKey {
    const { runId, callId } = this.call.request;
    return { principal: this.principal, runId, callId };
  }

  giveBack(): void {
    this.budget?.(false);
    this.budget = undefined;
  }
}

function keyText(
  principal: string,
  { runId, callId }: { readonly runId: string; readonly callId: string },
): string {
  return JSON.stringify([principal, runId, callId]);
}

function reused({ callId, runId }: CallRequest): ToolPortError {
  return new ToolPortError(
    "CALL_ID_REUSED",
    `call id ${JSON.stringify(callId)} was used in run ${JSON.stringify(runId)} for another call`,
  );
}

function expired({ runId }: CallRequest): ToolPortError {
  return new ToolPortError(
    "RUN_EXPIRED",
    `the records of run ${JSON.stringify(runId)} have been pruned; use a new run id`,
  );
}

function runFault({ name }: CallRequest, run: CallRun | undefined): ToolPortError {
  return run
    ? new ToolPortError("RUN_ENDED", `run ${pythonRepr(run.id)} is no longer live`)
    : new ToolPortError(
        "RUN_REQUIRED",
        `run-aware tool ${JSON.stringify(name)} requires the context of a live run; call it over Run`,
      );
}

function unavailable({ callId }: CallRequest, cause: unknown): ToolPortError {
  const isKnown = isToolPortError(cause);
  if (isKnown && cause.code !== "JOURNAL_UNAVAILABLE") return cause;
  return new ToolPortError(
    "JOURNAL_UNAVAILABLE",
    `call ${JSON.stringify(callId)} was not started: ${isKnown ? cause.message : "the journal failed"}`,
    { cause },
  );
}

function internal({ name }: CallRequest, cause: unknown): ToolPortError {
  return new ToolPortError("INTERNAL", `checking the arguments of ${JSON.stringify(name)} failed`, {
    cause,
  });
}

function indeterminate({ toolName, attempt }: { toolName: string; attempt: number }): Outcome {
  return {
    ok: false,
    ...failure(
      "INDETERMINATE",
      `an earlier attempt of ${JSON.stringify(toolName)} started and its outcome is not known`,
    ),
    content: [],
    durationMs: 0,
    attempt,
    replayed: false,
  };
}
