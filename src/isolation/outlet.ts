import type { CallEvent } from "../domain/call.ts";
import { type Flow, weightOf } from "./flow.ts";

// I1  What is under way to the process is bounded, whatever a tool does that never awaits: reports
//     of progress are merged into the newest, output blocks the thread until there is space.
// I2  Events keep their order; the newest report is sent before whatever follows it.
// I3  Nothing is sent for a call that is over.

/** From how much under way `output` waits, progress is merged, and output blocks. */
const window = { output: 64, progress: 32, hard: 4096 };
/** How long a merged report waits for another event to carry it, in milliseconds. */
const mergeMs = 10;

/** Where the events of a thread's calls leave for the process. */
export class Outlet {
  readonly #flow: Flow;
  readonly #post: (seq: number, event: CallEvent, weight: number) => void;
  #sent = 0;
  #newest: { readonly seq: number; readonly event: CallEvent } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiters: (() => void)[] = [];

  constructor(flow: Flow, post: (seq: number, event: CallEvent, weight: number) => void) {
    this.#flow = flow;
    this.#post = post;
  }

  /** Sends an event of a call. */
  send(seq: number, event: CallEvent): void {
    if (event.kind === "progress" && this.#underWay >= window.progress) {
      this.#newest = { seq, event };
      this.#timer ??= setTimeout(() => this.#retry(), mergeMs).unref();
      return;
    }
    this.flush();
    this.#sendNow(seq, event);
  }

  /** Sends what was held back. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const held = this.#newest;
    this.#newest = undefined;
    if (held) this.#sendNow(held.seq, held.event);
  }

  /** Resolves when there is room for more output; undefined where there is room now. */
  room(): Promise<void> | undefined {
    if (this.#hasRoom) return undefined;
    this.#flow.wait();
    if (this.#hasRoom) return undefined;
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** There is room again, or nobody cares any more. */
  release(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  get #underWay(): number {
    return (this.#sent - this.#flow.received) | 0;
  }

  get #hasRoom(): boolean {
    return this.#underWay < window.output && !this.#flow.isFull;
  }

  #retry(): void {
    this.#timer = undefined;
    const held = this.#newest;
    this.#newest = undefined;
    if (held) this.send(held.seq, held.event);
  }

  #sendNow(seq: number, event: CallEvent): void {
    const weight = weightOf(event);
    for (;;) {
      if (this.#flow.isOver(seq)) return;
      const seen = this.#flow.received;
      const underWay = (this.#sent - seen) | 0;
      if (underWay <= 0 || underWay + weight <= window.hard) break;
      this.#flow.blockUntilReceived(seen, 100);
    }
    this.#post(seq, event, weight);
    this.#sent = (this.#sent + weight) | 0;
  }
}
