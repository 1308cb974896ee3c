import type { JsonValue } from "../domain/json.ts";
import type { RunContext } from "../domain/run.ts";
import type { Tool } from "../domain/tool.ts";
import { ToolPortError } from "../errors.ts";
import { type BodyEnd, type RunningBody, runBody } from "../execution/body.ts";
import { type AbortCause, CallContext, LazySignal, outputEvent } from "../execution/context.ts";
import { SettledFailure } from "../execution/describe-error.ts";
import { readArguments } from "../execution/read-arguments.ts";
import { runInTool } from "../internal/current-tool.ts";
import { parseJson } from "../internal/json-text.ts";
import { stringifyWhole } from "../internal/whole-json.ts";
import { arriveError } from "./crossing.ts";
import type { Outlet } from "./outlet.ts";
import type { ToThread } from "./protocol.ts";

type CallMessage = Extract<ToThread, { kind: "call" }>;
type Answer = Extract<ToThread, { kind: "answer" }>["answer"];

/** What a call in a thread reports to. */
export interface ThreadCallHooks {
  readonly outlet: Outlet;
  ask(question: number, name: string, payloadJson: string): void;
  /** The body has ended; called once. */
  settled(end: BodyEnd): void;
  /** Whether the process has said that the call is over, whatever messages wait. */
  isOver(): boolean;
  /** Handles the messages that wait now, without a turn of the loop. */
  receive(): void;
}

interface Question {
  resolve(value: JsonValue): void;
  reject(error: Error): void;
}

/** One call as its thread runs it: the same body, in the same context, as it has in the process. */
export class ThreadCall {
  readonly seq: number;
  readonly #message: CallMessage;
  readonly #hooks: ThreadCallHooks;
  readonly #tool: Tool;
  readonly #signal: PolledSignal;
  readonly #questions = new Map<number, Question>();
  #isRunLive = true;
  #hasEnded = false;
  #body: RunningBody | undefined;

  constructor(message: CallMessage, tool: Tool, hooks: ThreadCallHooks) {
    this.seq = message.seq;
    this.#message = message;
    this.#tool = tool;
    this.#hooks = hooks;
    this.#signal = new PolledSignal(() => {
      if (!this.#hasEnded && hooks.isOver()) hooks.receive();
    });
  }

  /** Runs the body; it may hear of its abort before this returns. */
  start(): void {
    const { request, principal, attempt } = this.#message.origin;
    const { outlet } = this.#hooks;
    const isDone = (): boolean => this.#hasEnded || this.#signal.cause !== undefined;
    const room = (): Promise<void> | undefined => (isDone() ? undefined : outlet.room());
    const context = new CallContext(request, principal, attempt, this.#runContext(), this.#signal, {
      emit: (event) => {
        if (!isDone()) outlet.send(this.seq, event);
      },
      room,
    });
    this.#body = runBody(() => runInTool(request.name, () => start(this.#tool, context)), {
      yielded: (value) => context.send(outputEvent(value)),
      room,
      settled: (end) => this.#settle(end),
    });
    if (this.#signal.cause) this.#body.stop();
  }

  /** The call's signal fires. Idempotent. */
  abort(cause: AbortCause): void {
    if (this.#signal.cause) return;
    this.#signal.abort(cause);
    this.#hooks.outlet.release();
    this.#body?.stop();
  }

  answer(question: number, answer: Answer): void {
    const asked = this.#questions.get(question);
    this.#questions.delete(question);
    if ("json" in answer) return asked?.resolve(parseJson(answer.json));
    if (answer.error.code === "RUN_ENDED") this.endRun();
    return asked?.reject(arriveError(answer.error));
  }

  endRun(): void {
    this.#isRunLive = false;
  }

  #settle(end: BodyEnd): void {
    this.#hasEnded = true;
    for (const question of this.#questions.values()) question.reject(this.#callOver());
    this.#questions.clear();
    this.#hooks.outlet.release();
    this.#hooks.settled(end);
  }

  #runContext(): RunContext | undefined {
    const { runId } = this.#message;
    if (runId === undefined) return undefined;
    const isLive = (): boolean => this.#isRunLive;
    return Object.freeze({
      id: runId,
      get live() {
        return isLive();
      },
      ask: (name: string, payload: JsonValue = null) => this.#ask(name, payload),
    });
  }

  #ask(name: string, payload: JsonValue): Promise<JsonValue> {
    if (this.#hasEnded) return Promise.reject(this.#callOver());
    return new Promise((resolve, reject) => {
      const payloadJson = stringifyWhole(payload);
      const question = ++questions;
      this.#questions.set(question, { resolve, reject });
      this.#hooks.ask(question, String(name), payloadJson);
    });
  }

  #callOver(): ToolPortError {
    const { callId } = this.#message.origin.request;
    return new ToolPortError("CANCELLED", `call ${JSON.stringify(callId)} has ended`);
  }
}

let questions = 0;

/**
 * Checks the arguments here once more: what a library made of them may be of classes that can't
 * cross, so each thread makes its own from the text.
 */
function start(tool: Tool, context: CallContext): unknown {
  const read = readArguments(context.origin.request.argumentsJson);
  if (!read.ok) throw new SettledFailure(read.failure.errorKind, read.failure.error);
  const checked = tool.check(read.value);
  const run = (check: Awaited<typeof checked>): unknown => {
    if (check.ok) return tool.execute(check.value, context);
    throw new SettledFailure("INVALID_ARGUMENTS", `InvalidArguments: ${check.message}`);
  };
  return checked instanceof Promise ? checked.then(run) : run(checked);
}

/**
 * A signal that also fires while the thread's loop is busy: reading `aborted` looks whether the
 * process has ended the call.
 */
class PolledSignal extends LazySignal {
  readonly #poll: () => void;
  #polled: AbortSignal | undefined;

  constructor(poll: () => void) {
    super();
    this.#poll = poll;
  }

  override get signal(): AbortSignal {
    if (this.#polled) return this.#polled;
    const signal = super.signal;
    this.#polled = signal;
    const poll = this.#poll;
    const isAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")?.get;
    Object.defineProperties(signal, {
      aborted: {
        get() {
          poll();
          return isAborted?.call(signal) as boolean;
        },
      },
      throwIfAborted: {
        value() {
          poll();
          AbortSignal.prototype.throwIfAborted.call(signal);
        },
      },
    });
    return signal;
  }
}
