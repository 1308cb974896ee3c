import type { CallEvent, CallRequest, Outcome } from "../domain/call.ts";
import type { RunContext } from "../domain/run.ts";
import type { Tool } from "../domain/tool.ts";
import { ToolPortError } from "../errors.ts";
import { runInTool } from "../internal/current-tool.ts";
import { after, type Timer } from "../internal/timers.ts";
import { type BodyEnd, type BodyHooks, type RunningBody, runBody } from "./body.ts";
import { type Backlog, CallerQueue } from "./caller-queue.ts";
import {
  type AbortCause,
  CallContext,
  type ContextHooks,
  LazySignal,
  outputEvent,
} from "./context.ts";
import { type Failure, failure, isAbortError } from "./describe-error.ts";
import type { CallEnd, Caller, Ticket } from "./port.ts";
import type { CallRecord } from "./call-record.ts";
import { callDigest } from "./read-arguments.ts";
import { type Attempt, concluded, failed, fitting, type ResultLimits } from "./make-outcome.ts";
import type { Pace } from "./pace.ts";
import type { Slot } from "./slots.ts";
import { TimeLimit } from "./time-limit.ts";

// The life of one call:
//
//     admitted ──▶ running ──▶ closing ──▶ ended        an outcome, recorded, then told
//        │            └──────▶ abandoned ──▶ ended      everybody left; the body is waited for
//        └───────────────────────────────▶ ended        a fault, or an outcome where nothing ran
//
// I1  Each caller is told exactly one end, last (CallerQueue); each call has one.
// I2  The body starts only in `running`, once, and with a record only after its claim is durable.
// I3  With a record, no caller is told an outcome before it is durable.
// I4  When the last caller leaves, the signal fires in that same turn; callers never wait for a
//     body that ignores it.
// I5  The slot is held until the body has really ended.
// I6  Events and results that come after `running` reach nobody: they are logged, and noted in the
//     record.
// I7  Once ended and its body settled, a call holds no timer and nobody holds the call.

type State = "admitted" | "running" | "closing" | "abandoned" | "ended";

/** What every call of an executor shares. */
export interface CallSettings extends ResultLimits {
  /** What waits for all callers together. */
  readonly backlog: Backlog;
  /** Keeps bodies that only write from keeping the loop. */
  readonly pace: Pace;
  /** How long a call goes on for callers that lost their connection, in milliseconds. */
  readonly continueGraceMs: number;
  /** Runs the body of an isolated tool. */
  readonly isolate: ((tool: Tool, args: unknown, context: CallContext) => unknown) | undefined;
}

/** Whoever keeps the calls. */
export interface CallWatcher {
  /** Nobody waits for the call any more; its body may still run. */
  over(call: Call): void;
  /** Nothing of the call is left. */
  gone(call: Call): void;
}

/** What an executor knows a call by. */
export interface CallIdentity {
  /** Unique in the executor. */
  readonly number: number;
  /** Over principal, run id and call id; undefined where the call stands alone. */
  readonly key: string | undefined;
}

/** What tells whether two requests of one key are the same call. */
export function digestOf(request: CallRequest): string {
  return callDigest(request.name, request.argumentsJson);
}

/** One call, from admission to its end. */
export class Call implements BodyHooks, ContextHooks {
  readonly request: CallRequest;
  readonly number: number;
  readonly key: string | undefined;
  #digest: string | undefined;
  readonly #previous: Call | undefined;
  readonly #settings: CallSettings;
  readonly #watcher: CallWatcher;
  /** Those who are still to be told. */
  #links: readonly Link[] = none;
  readonly #admittedAt = performance.now();
  readonly #signal = new LazySignal();
  #state: State = "admitted";
  #record: CallRecord | undefined;
  #tool: Tool | undefined;
  #slot: Slot | undefined;
  #body: RunningBody | undefined;
  #isSettled = true;
  #startedAt = 0;
  #attempt = 0;
  #limit: TimeLimit | undefined;
  #grace: Timer | undefined;
  #roomWaiters: (() => void)[] | undefined;
  #endListeners: (() => void)[] | undefined;
  #lost: Promise<void> | undefined;
  #goneWaiters: (() => void)[] | undefined;
  #isGone = false;

  constructor(
    request: CallRequest,
    { number, key }: CallIdentity,
    settings: CallSettings,
    watcher: CallWatcher,
    previous?: Call,
  ) {
    this.request = request;
    this.number = number;
    this.key = key;
    this.#previous = previous;
    this.#settings = settings;
    this.#watcher = watcher;
  }

  /** The digest of {@link digestOf}; made when it is asked for. */
  get digest(): string {
    this.#digest ??= digestOf(this.request);
    return this.#digest;
  }

  /** Whether it still waits to start. False once every caller has left. */
  get isWaiting(): boolean {
    return this.#state === "admitted";
  }

  /** Whether somebody who asks for the same call can still be told its end. */
  get isJoinable(): boolean {
    return this.#state !== "abandoned" && this.#state !== "ended";
  }

  /** The call of this key, itself or an earlier one, whose body may still run. */
  get blocker(): Call | undefined {
    if (this.#startedAt === 0) return this.#previous?.blocker;
    return this.#isGone ? undefined : this;
  }

  /** What waits for all callers of all calls. */
  get backlog(): Backlog {
    return this.#settings.backlog;
  }

  /** Adds a caller. */
  join(caller: Caller, request: CallRequest, deadlineMs: number | undefined): Ticket {
    const link = new Link(caller, request, this);
    this.#links = this.#links.length === 0 ? [link] : [...this.#links, link];
    this.#grace?.stop();
    this.#grace = undefined;
    if (deadlineMs !== undefined) {
      link.deadline = after(deadlineMs, () => this.leave(link, "deadline"));
    }
    return link;
  }

  /** Ends a call that has not started with a fault. */
  fail(fault: ToolPortError): void {
    if (this.#state === "admitted") this.#tell({ kind: "fault", fault });
  }

  /** Ends a call that has not started with an outcome. */
  answer(outcome: Outcome | Failure): void {
    if (this.#state !== "admitted") return;
    this.#tell({
      kind: "outcome",
      outcome:
        "ok" in outcome ? outcome : failed(outcome, { startedAt: this.#admittedAt, attempt: 0 }),
    });
  }

  /** The slot that the call holds or waits for; given back when the body has ended. */
  holdSlot(slot: Slot): void {
    if (this.#state === "admitted") this.#slot = slot;
    else slot.release();
  }

  /**
   * Starts the body.
   *
   * @param record where its end goes; undefined without a journal
   */
  start(
    tool: Tool,
    args: unknown,
    attempt: number,
    record: CallRecord | undefined,
    run: RunContext | undefined,
    principal: string,
  ): void {
    this.#state = "running";
    this.#tool = tool;
    this.#record = record;
    this.#attempt = attempt;
    this.#isSettled = false;
    this.#startedAt = performance.now();
    const context = new CallContext(this.request, principal, attempt, run, this.#signal, this);
    const isolate = tool.limits.isolate === "worker" ? this.#settings.isolate : undefined;
    // An isolated body begins when a thread has taken it, which may have to start first.
    if (!isolate) this.began();
    const start = (): unknown =>
      isolate ? isolate(tool, args, context) : tool.execute(args, context);
    const body = runBody(() => runInTool(tool.descriptor.name, start), this);
    this.#body = body;
    if (this.#signal.cause) body.stop();
  }

  /** The body begins: from here its time counts. */
  began(): void {
    if (this.#state !== "running" || !this.#tool) return;
    this.#startedAt = performance.now();
    const { timeoutMs, maxTimeoutMs } = this.#tool.limits;
    this.#limit?.stop();
    if (this.request.timeoutMs === undefined && timeoutMs === null && maxTimeoutMs === null) return;
    this.#limit = new TimeLimit(
      {
        requestMs: this.request.timeoutMs,
        toolMs: timeoutMs ?? undefined,
        capMs: maxTimeoutMs ?? undefined,
      },
      this.#startedAt,
      (allowedMs) => this.#stopBody("timeout", timedOut(this.request.name, allowedMs)),
    );
  }

  /** Ends the call for everybody: the server is shutting down. */
  abort(): void {
    // Its end is being written; who waits is told once that is done, or given up.
    if (this.#state === "closing") return;
    this.dismiss();
    this.#abandon("drain");
  }

  /** Ends the callers' part, whatever becomes of the call: the server is about to close. */
  dismiss(): void {
    for (const link of this.#links) this.#detach(link, this.#faultOf("drain"));
  }

  /** Calls `listener` once the call has ended for everybody, even if its body still runs. */
  onEnd(listener: () => void): void {
    (this.#endListeners ??= []).push(listener);
  }

  /** Resolves when the body has ended and nothing more is written to the record. */
  whenGone(): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    const waiters = (this.#goneWaiters ??= []);
    return new Promise((resolve) => waiters.push(resolve));
  }

  /** Resolves when the record says that the attempt is lost. */
  whenLost(): Promise<void> {
    return this.#lost ?? Promise.resolve();
  }

  // Callers

  /** A caller leaves. */
  leave(link: Link, cause: "cancelled" | "deadline" | "disconnected"): void {
    const wasWaiting = this.#links.includes(link);
    this.#detach(link, this.#faultOf(cause));
    if (!wasWaiting || !this.isJoinable) return;
    const goesOn = cause === "disconnected" && link.request.onDisconnect === "continue";
    if (goesOn && this.#state === "running" && this.#record) this.#holdOn();
    // Whoever lost its connection may come back, so another one's cancel ends that other one only.
    if (this.#links.length === 0 && !this.#grace) this.#abandon(cause);
  }

  /** A caller takes events again. */
  resumed(): void {
    this.#makeRoom();
  }

  /** Goes on without a caller until the grace has passed. */
  #holdOn(): void {
    this.#grace ??= after(this.#settings.continueGraceMs, () => {
      this.#grace = undefined;
      if (this.#links.length === 0) this.#abandon("disconnected");
    });
  }

  #detach(link: Link, fault: ToolPortError): void {
    link.deadline?.stop();
    this.#forget(link);
    link.queue.endNow({ kind: "fault", fault });
    this.#makeRoom();
  }

  #forget(link: Link): void {
    const left = this.#links.filter((one) => one !== link);
    this.#links = left.length === 0 ? none : left;
  }

  #faultOf(cause: AbortCause): ToolPortError {
    const started = this.#startedAt > 0 ? "yes" : "no";
    const name = JSON.stringify(this.request.name);
    switch (cause) {
      case "deadline":
        return new ToolPortError(
          "DEADLINE_EXCEEDED",
          `the deadline passed before the call of ${name} ended`,
          { started },
        );
      case "drain":
        return new ToolPortError("DRAINING", `the server shut down during the call of ${name}`, {
          started,
        });
      default:
        return new ToolPortError("CANCELLED", `the call of ${name} was cancelled`, { started });
    }
  }

  #abandon(cause: AbortCause): void {
    if (!this.isJoinable || this.#state === "closing") return;
    const hadStarted = this.#state === "running";
    this.#state = "abandoned";
    this.#signal.abort(cause);
    this.#stopWatching();
    this.#makeRoom();
    this.#watcher.over(this);
    if (hadStarted) {
      this.#lost = this.#record?.lost();
      this.#body?.stop();
    } else {
      this.#slot?.release();
      this.#state = "ended";
      this.#end();
    }
  }

  /** Tells every caller the end, and lets go of the call. */
  #tell(end: CallEnd): void {
    this.#state = "ended";
    this.#stopWatching();
    if (this.#isSettled) this.#slot?.release();
    this.#tellLinks(end);
    this.#makeRoom();
    this.#watcher.over(this);
    this.#end();
  }

  #tellLinks(end: CallEnd): void {
    for (let link = this.#links[0]; link; link = this.#links[0]) {
      link.deadline?.stop();
      // First, so that a caller that leaves as it is told has left already.
      this.#forget(link);
      link.queue.end(fitting(end, link.request, this.#settings));
    }
  }

  #end(): void {
    if (!this.#isSettled) return;
    if (this.#record) void this.#record.idle().then(() => this.#gone());
    else this.#gone();
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#watcher.gone(this);
    for (const resolve of this.#goneWaiters ?? []) resolve();
    this.#goneWaiters = undefined;
  }

  // The body

  /** A generator yielded. */
  yielded(value: unknown): void {
    this.emit(outputEvent(value));
  }

  /** The body sends an event. */
  emit(event: CallEvent): void {
    if (this.#state !== "running") {
      this.#settings.log("debug", "late event dropped", { tool: this.request.name });
      return;
    }
    if (event.kind === "progress") this.#limit?.extend();
    let behind: Link[] | undefined;
    for (const link of this.#links) if (!link.queue.offer(event)) (behind ??= []).push(link);
    if (!behind) return;
    if (behind.length === this.#links.length) {
      return this.#stopBody("overflow", overflow(this.request.name));
    }
    for (const link of behind) this.#detach(link, tooSlow(this.request.name));
  }

  /** Ends the call with a failure that is not the body's own. */
  #stopBody(cause: AbortCause, reason: Failure): void {
    this.#signal.abort(cause);
    this.#body?.stop();
    this.#close(failed(reason, this.#ran));
  }

  /** Resolves when there is room for another event; undefined where there is room now. */
  room(): Promise<void> | undefined {
    if (!this.#hasRoom()) {
      return new Promise((resolve) => (this.#roomWaiters ??= []).push(resolve));
    }
    return this.#settings.pace.next();
  }

  /** The quickest caller sets the pace; what the others are behind waits for them, bounded. */
  #hasRoom(): boolean {
    if (this.#state !== "running" || this.#links.length === 0) return true;
    for (const link of this.#links) if (link.queue.isReady) return true;
    return false;
  }

  #makeRoom(): void {
    const waiters = this.#roomWaiters;
    if (!waiters || !this.#hasRoom()) return;
    this.#roomWaiters = undefined;
    for (const resolve of waiters) resolve();
  }

  /** The body has ended. */
  settled(end: BodyEnd): void {
    this.#slot?.release();
    const hasOutcome = this.#state === "running" || end.ok || !isAbortError(end.thrown);
    if (!hasOutcome) return this.#bodyGone();
    const largeResults = this.#tool?.limits.largeResults ?? "refuse";
    const outcome = concluded(end, this.request, this.#ran, largeResults, this.#settings);
    if (outcome instanceof Promise) void outcome.then((made) => this.#concluded(made));
    else this.#concluded(outcome);
    return undefined;
  }

  #concluded(outcome: Outcome): void {
    if (this.#state === "running") {
      this.#isSettled = true;
      return this.#close(outcome);
    }
    this.#settings.log("warn", "late result dropped", {
      tool: this.request.name,
      runId: this.request.runId,
      callId: this.request.callId,
    });
    this.#record?.late(outcome);
    return this.#bodyGone();
  }

  /** Nothing of the body is left. */
  #bodyGone(): void {
    this.#isSettled = true;
    if (this.#state === "abandoned") this.#state = "ended";
    if (this.#state === "ended") this.#end();
  }

  get #ran(): Attempt {
    return { startedAt: this.#startedAt, attempt: this.#attempt };
  }

  // The end

  #close(outcome: Outcome): void {
    if (this.#state !== "running") return;
    this.#state = "closing";
    this.#stopWatching();
    this.#makeRoom();
    const record = this.#record;
    if (!record) return this.#tell({ kind: "outcome", outcome });
    record.outcome(outcome).then(
      () => this.#tell({ kind: "outcome", outcome }),
      (fault: ToolPortError) => {
        this.#tellLinks({ kind: "fault", fault });
        // Whoever asks meanwhile joins, and is told once the record has it.
        void record.settled().then(
          () => this.#tell({ kind: "outcome", outcome: { ...outcome, replayed: true } }),
          (later: ToolPortError) => this.#tell({ kind: "fault", fault: later }),
        );
      },
    );
    return undefined;
  }

  #stopWatching(): void {
    this.#limit?.stop();
    this.#grace?.stop();
    this.#limit = undefined;
    this.#grace = undefined;
    const listeners = this.#endListeners;
    this.#endListeners = undefined;
    for (const listener of listeners ?? []) listener();
  }
}

/** One caller's hold on a call. */
class Link implements Ticket {
  readonly queue: CallerQueue;
  readonly request: CallRequest;
  readonly #call: Call;
  deadline: Timer | undefined;

  constructor(caller: Caller, request: CallRequest, call: Call) {
    this.queue = new CallerQueue(caller, call.backlog);
    this.request = request;
    this.#call = call;
  }

  leave(cause: "cancelled" | "deadline" | "disconnected"): void {
    this.#call.leave(this, cause);
  }

  resume(): void {
    this.queue.resume();
    this.#call.resumed();
  }
}

const none: readonly Link[] = Object.freeze([]);

function timedOut(name: string, allowedMs: number): Failure {
  return failure("TIMED_OUT", `${JSON.stringify(name)} did not end within ${allowedMs} ms`);
}

function tooSlow(name: string): ToolPortError {
  return new ToolPortError(
    "OVERLOADED",
    `this reader of the output of ${JSON.stringify(name)} is too far behind the others; ask again for its end`,
    { started: "yes", retryAfterMs: 1000 },
  );
}

function overflow(name: string): Failure {
  return failure(
    "RESULT_TOO_LARGE",
    `the output of ${JSON.stringify(name)} ran too far ahead of its reader; let the tool await output()`,
  );
}
