import type { CallEvent } from "../domain/call.ts";

// Memory that a thread shares with the process, so that what matters holds while the thread's loop
// is busy and messages wait.
//
// I1  A call that is offered is either claimed by the thread, which then runs it, or revoked by the
//     process, which may then run it elsewhere: never both.
// I2  A thread knows how much of what it sent has been received, without a turn of its loop.
// I3  Whoever waits for room is told: the thread says that it waits before it looks again, the
//     process makes room before it looks whether somebody waits.

const offered = 0;
const over = 1;
const received = 2;
const full = 3;
const waits = 4;
const cells = 5;

/** The shared state of one thread and the process. */
export class Flow {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(cells * 4)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  // The process

  /** Offers the thread a call, which nothing is known of yet. */
  offer(seq: number): void {
    Atomics.store(this.#cells, full, 0);
    Atomics.store(this.#cells, waits, 0);
    Atomics.store(this.#cells, offered, seq);
  }

  /** Takes an offer back; false once the thread has claimed it. */
  revoke(seq: number): boolean {
    return Atomics.compareExchange(this.#cells, offered, seq, 0) === seq;
  }

  /** Says that the call is over: nobody wants its events any more. */
  end(seq: number): void {
    Atomics.store(this.#cells, over, seq);
    Atomics.notify(this.#cells, received);
  }

  /** Notes that an event has arrived. */
  receive(weight: number): void {
    Atomics.add(this.#cells, received, weight);
    Atomics.notify(this.#cells, received);
  }

  /** Says whether there is room for more output. */
  setFull(isFull: boolean): void {
    Atomics.store(this.#cells, full, isFull ? 1 : 0);
  }

  /** Whether the thread waits for room; it must be told once this was true. */
  takeWaiting(): boolean {
    return Atomics.exchange(this.#cells, waits, 0) === 1;
  }

  // The thread

  /** Takes the call that is offered; false where it was revoked. */
  claim(seq: number): boolean {
    return Atomics.compareExchange(this.#cells, offered, seq, -seq) === seq;
  }

  isOver(seq: number): boolean {
    return Atomics.load(this.#cells, over) === seq;
  }

  get isFull(): boolean {
    return Atomics.load(this.#cells, full) === 1;
  }

  /** Says that the thread waits for room. */
  wait(): void {
    Atomics.store(this.#cells, waits, 1);
  }

  /** The weight of all that has been received, modulo 2^32. */
  get received(): number {
    return Atomics.load(this.#cells, received);
  }

  /** Blocks the thread until more than `seen` has been received, but no longer than `ms`. */
  blockUntilReceived(seen: number, ms: number): void {
    Atomics.wait(this.#cells, received, seen, ms);
  }
}

/** What an event counts for: one, and one more for every 4 KiB. */
export function weightOf(event: CallEvent): number {
  return 1 + (sizeOf(event) >> 12);
}

function sizeOf(event: CallEvent): number {
  switch (event.kind) {
    case "progress":
      return event.message.length * 2;
    case "text":
      return event.text.length * 2;
    case "json":
      return event.json.length * 2;
    case "content":
      return event.content.data?.byteLength ?? 0;
  }
}
