import type { CallEvent } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import type { CallEnd, Caller } from "./port.ts";

// I1  Events reach the caller in order; the end comes after them, once, and nothing follows it.
// I2  While the caller is behind, events wait here: progress is merged into the newest report, and
//     output over a bound is the caller's failure, never a gap. The bounds, one for each caller and
//     one for all together, always leave room for a single event.
// I3  A caller that has left gets its fault at once and none of what waited.
// I4  A caller that throws hurts nobody else; one that cannot take its end is told a fault instead.

/** How many bytes may wait for one caller. */
const maxWaitingBytes = 16 << 20;
/** How many progress reports may wait before they are merged. */
const maxWaitingReports = 4096;

/** How much waits for all callers of an executor together. */
export class Backlog {
  /** How many bytes may wait. */
  readonly maxBytes: number;
  readonly log: Log;
  /** How many bytes wait now. */
  bytes = 0;

  constructor(maxBytes: number, log: Log) {
    this.maxBytes = maxBytes;
    this.log = log;
  }
}

/** What waits for one caller that reads slower than the tool writes. */
export class CallerQueue {
  readonly #caller: Caller;
  readonly #backlog: Backlog;
  #waiting: CallEvent[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #isFlushing = false;
  #end: CallEnd | undefined;
  #isOver = false;

  constructor(caller: Caller, backlog: Backlog) {
    this.#caller = caller;
    this.#backlog = backlog;
  }

  /** Whether the caller takes events now. */
  get isReady(): boolean {
    return this.#isOver || (!this.#isPaused && this.#caller.isBehind !== true);
  }

  /** @returns false where the event does not fit any more */
  offer(event: CallEvent): boolean {
    if (this.#isOver || this.#end) return true;
    if (this.#waiting.length === 0 && !this.#isFlushing && this.isReady) {
      this.#isPaused = !this.#give(event);
      return true;
    }
    this.#isPaused = true;
    if (event.kind === "progress" && this.#waiting.length >= maxWaitingReports) {
      if (this.#waiting.at(-1)?.kind === "progress") this.#drop(this.#waiting.pop());
    }
    const size = sizeOf(event);
    if (this.#waiting.length > 0 && !this.#fits(size)) return event.kind === "progress";
    this.#waiting.push(event);
    this.#count(size);
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
    if (this.#isOver) return;
    this.#waiting = [];
    this.#count(-this.#waitingBytes);
    this.#end = end;
    this.#finish();
  }

  /** The caller takes events again. */
  resume(): void {
    this.#isPaused = false;
    this.#flush();
  }

  #flush(): void {
    // A caller may resume from within an event; whoever gave it that goes on.
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    let sent = 0;
    for (; sent < this.#waiting.length && this.isReady; sent += 1) {
      const event = this.#waiting[sent];
      this.#drop(event);
      if (event && !this.#give(event)) this.#isPaused = true;
    }
    this.#waiting.splice(0, sent);
    this.#isFlushing = false;
    if (this.#waiting.length === 0) this.#finish();
  }

  #finish(): void {
    const end = this.#end;
    if (!end || this.#isOver) return;
    this.#isOver = true;
    try {
      this.#caller.end(end);
    } catch (error) {
      const fault = new ToolPortError("INTERNAL", "the end of the call could not be told", {
        cause: error,
        started: "unknown",
      });
      this.#attempt(() => this.#caller.end({ kind: "fault", fault }));
    }
  }

  /** @returns whether the caller takes more */
  #give(event: CallEvent): boolean {
    return this.#attempt(() => this.#caller.event(event)) ?? true;
  }

  #attempt<T>(tell: () => T): T | undefined {
    try {
      return tell();
    } catch (error) {
      this.#backlog.log("error", "a caller could not be told", { error });
      return undefined;
    }
  }

  #fits(size: number): boolean {
    const { bytes, maxBytes } = this.#backlog;
    return this.#waitingBytes + size <= maxWaitingBytes && bytes + size <= maxBytes;
  }

  #drop(event: CallEvent | undefined): void {
    if (event) this.#count(-sizeOf(event));
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#backlog.bytes += bytes;
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
