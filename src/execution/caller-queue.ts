import type { CallEvent } from "../domain/call.ts";
import type { CallEnd, Caller } from "./port.ts";

// I1  Events reach the caller in order; the end comes after them, once, and nothing follows it.
// I2  While the caller is behind, events wait here, bounded in bytes: progress is merged into the
//     newest report, and output over the bound is the call's failure, never a gap.
// I3  A caller that has left gets its fault at once and none of what waited.

/** How many bytes may wait for one caller. */
const maxWaitingBytes = 16 << 20;
/** How many progress reports may wait before they are merged. */
const maxWaitingReports = 4096;

/** What waits for one caller that reads slower than the tool writes. */
export class CallerQueue {
  readonly #caller: Caller;
  readonly #waiting: CallEvent[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #end: CallEnd | undefined;
  #isOver = false;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Whether the caller takes events now. */
  get isReady(): boolean {
    return !this.#isPaused || this.#isOver;
  }

  get principal(): string {
    return this.#caller.principal;
  }

  /** @returns false where the event does not fit any more */
  offer(event: CallEvent): boolean {
    if (this.#isOver || this.#end) return true;
    if (!this.#isPaused) {
      this.#isPaused = !this.#caller.event(event);
      return true;
    }
    if (event.kind === "progress" && this.#waiting.length >= maxWaitingReports) {
      const newest = this.#waiting.findLastIndex((waiting) => waiting.kind === "progress");
      if (newest === this.#waiting.length - 1) this.#waiting.pop();
    }
    const size = sizeOf(event);
    if (this.#waitingBytes + size > maxWaitingBytes) return event.kind === "progress";
    this.#waiting.push(event);
    this.#waitingBytes += size;
    return true;
  }

  /** Ends the call for this caller, behind what waits. */
  end(end: CallEnd): void {
    if (this.#isOver) return;
    this.#end ??= end;
    this.#flush();
  }

  /** Ends the call for this caller now; what waits is dropped. */
  endNow(end: CallEnd): void {
    this.#waiting.length = 0;
    this.#isPaused = false;
    this.#end = end;
    this.#flush();
  }

  /** The caller takes events again. */
  resume(): void {
    this.#isPaused = false;
    this.#flush();
  }

  #flush(): void {
    let sent = 0;
    while (sent < this.#waiting.length && !this.#isPaused) {
      const event = this.#waiting[sent] as CallEvent;
      sent += 1;
      this.#waitingBytes -= sizeOf(event);
      this.#isPaused = !this.#caller.event(event);
    }
    this.#waiting.splice(0, sent);
    if (this.#waiting.length > 0 || !this.#end || this.#isOver) return;
    this.#isOver = true;
    this.#caller.end(this.#end);
  }
}

/** About what an event costs in memory, in bytes. */
function sizeOf(event: CallEvent): number {
  switch (event.kind) {
    case "progress":
      return 64 + event.message.length * 2;
    case "text":
      return 32 + event.text.length * 2;
    case "json":
      return 32 + event.json.length * 2;
    case "content":
      return 64 + (event.content.data?.byteLength ?? 0) + (event.content.uri?.length ?? 0);
  }
}
