import type { BodyEnd } from "../execution/body.ts";
import type { CallContext } from "../execution/context.ts";
import { failure, SettledFailure } from "../execution/describe-error.ts";
import { after, type Timer } from "../internal/timers.ts";
import { parseJson, stringifyJson } from "../internal/json-text.ts";
import { arriveEnd, crossError } from "./crossing.ts";
import type { Flow } from "./flow.ts";
import type { FromThread } from "./protocol.ts";
import type { Thread } from "./thread.ts";

// I1  A call settles exactly once: by its thread's word, by the thread's end, or by its abort while
//     no thread has claimed it. So when it settles, nothing of it runs any more.
// I2  A thread that was told of the abort has `graceMs`; then it is terminated, and the call settles
//     when it has ended.
// I3  Once settled, a call holds no timer and no listener.

/** What a call needs of those who run it. */
export interface IsolatedCallHooks {
  /** How long a body may go on after its signal has fired, in milliseconds. */
  readonly graceMs: number;
  /** The call needs no thread any more, or not this one. */
  free(thread: Thread | undefined): void;
  /** A thread did not take the call; it may start elsewhere. */
  again(): void;
  settled(end: BodyEnd): void;
}

/** How long an idle thread may take to claim a call, in milliseconds; then something blocks it. */
const claimMs = 1000;

/** One call of an isolated tool, from its wait for a thread to its end. */
export class IsolatedCall {
  readonly #context: CallContext;
  readonly #hooks: IsolatedCallHooks;
  #thread: Thread | undefined;
  #seq = 0;
  #isSettled = false;
  #isFull = false;
  #timer: Timer | undefined;
  readonly #onAbort = (): void => this.#abort();

  constructor(context: CallContext, hooks: IsolatedCallHooks) {
    this.#context = context;
    this.#hooks = hooks;
    context.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Offers the call to a thread that runs no other. */
  start(thread: Thread): void {
    const seq = thread.nextSeq();
    this.#thread = thread;
    this.#seq = seq;
    thread.flow.offer(seq);
    const { origin, run } = this.#context;
    thread.say({ kind: "call", seq, origin, runId: run?.id });
    // A thread's first call waits for the tools file, which takes what it takes.
    if (thread.calls > 1) this.#timer = after(claimMs, () => this.#replaceBlocked(thread));
  }

  /** What the call's thread says. */
  receive(message: FromThread): void {
    if (message.kind === "event") {
      this.#thread?.flow.receive(message.weight);
      if (message.seq === this.#seq && !this.#isSettled) this.#emit(message);
    } else if (message.kind === "began") {
      if (message.seq === this.#seq && !this.#isSettled) this.#context.began();
    } else if (message.kind === "ask") {
      if (message.seq === this.#seq) void this.#ask(message);
    } else if (message.kind === "settled") {
      if (message.seq !== this.#seq || this.#isSettled) return;
      const thread = this.#thread;
      this.#settle(arriveEnd(message.end));
      this.#hooks.free(thread);
    }
  }

  /** The call's thread has ended. */
  lost(cause: string): void {
    const thread = this.#thread;
    if (this.#isSettled || !thread) return;
    const wasClaimed = !thread.flow.revoke(this.#seq);
    this.#thread = undefined;
    this.#timer?.stop();
    // Whatever ended a thread that had served others has nothing to do with this call.
    if (!wasClaimed && thread.calls > 1) return this.#hooks.again();
    return this.fail(cause);
  }

  /** The call can't be run; `cause` completes "the worker thread …". */
  fail(cause: string): void {
    if (this.#isSettled) return;
    if (this.#context.abortCause) return this.#settle(aborted());
    const { errorKind, error } = failure(
      "HOST_LOST",
      `the worker thread of ${JSON.stringify(this.#context.toolName)} ${cause}`,
    );
    return this.#settle({ ok: false, thrown: new SettledFailure(errorKind, error) });
  }

  /** Settles a call that no thread has. */
  drop(): void {
    if (!this.#isSettled && !this.#thread) this.#settle(aborted());
  }

  #abort(): void {
    const thread = this.#thread;
    if (!thread || thread.flow.revoke(this.#seq)) {
      this.#settle(aborted());
      return this.#hooks.free(thread);
    }
    const seq = this.#seq;
    const cause = this.#context.abortCause ?? "cancelled";
    thread.say({ kind: "abort", seq, cause });
    // After the message, so that a thread that looks for it finds it.
    thread.flow.end(seq);
    // The run, if it ends too, does so in the same turn.
    setImmediate(() => {
      if (this.#context.run?.live === false && !this.#isSettled)
        thread.say({ kind: "run-ended", seq });
    });
    this.#timer?.stop();
    this.#timer = after(this.#hooks.graceMs, () => void thread.terminate());
    return undefined;
  }

  /** Something that another call left behind blocks the thread: it goes, and this call elsewhere. */
  #replaceBlocked(thread: Thread): void {
    if (!thread.flow.revoke(this.#seq)) return;
    this.#thread = undefined;
    void thread.terminate();
    this.#hooks.again();
  }

  #emit({ event }: Extract<FromThread, { kind: "event" }>): void {
    const { flow } = this.#thread as Thread;
    const wait = this.#context.send(event);
    if (wait && !this.#isFull) {
      this.#isFull = true;
      flow.setFull(true);
      void this.#awaitRoom(wait, flow);
    }
    if (!this.#isFull) this.#tellOfRoom();
  }

  async #awaitRoom(wait: Promise<void>, flow: Flow): Promise<void> {
    await wait;
    this.#isFull = false;
    if (this.#isSettled) return;
    flow.setFull(false);
    this.#tellOfRoom();
  }

  #tellOfRoom(): void {
    const thread = this.#thread;
    if (thread?.flow.takeWaiting()) thread.say({ kind: "room", seq: this.#seq });
  }

  async #ask(message: Extract<FromThread, { kind: "ask" }>): Promise<void> {
    const { seq, question, name, payloadJson } = message;
    const answer = await this.#answer(name, payloadJson);
    if (!this.#isSettled) this.#thread?.say({ kind: "answer", seq, question, answer });
  }

  async #answer(name: string, payloadJson: string) {
    try {
      const value = await this.#context.run?.ask(name, parseJson(payloadJson));
      return { json: stringifyJson(value) };
    } catch (thrown) {
      return { error: crossError(thrown) };
    }
  }

  #settle(end: BodyEnd): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer?.stop();
    this.#thread = undefined;
    this.#context.signal.removeEventListener("abort", this.#onAbort);
    this.#hooks.settled(end);
  }
}

function aborted(): BodyEnd {
  const thrown = new DOMException("The isolated call was aborted.", "AbortError");
  return { ok: false, thrown };
}
