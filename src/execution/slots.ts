import { ToolPortError } from "../errors.ts";

// I1  At most `inFlight` slots are held in the process, and at most a tool's own number by it.
// I2  Whoever waits is served in order among those of its tool; tools take turns.
// I3  A slot is given back exactly once, and giving it back serves the next in the same turn.
// I4  Nothing is kept for a tool of which no slot is held and nobody waits.

/** How many calls may run and wait. */
export interface SlotLimits {
  readonly inFlight: number;
  readonly queued: number;
}

/** A claim on a slot that has been granted, or that still waits. */
export interface Slot {
  /** Gives the slot, or the place in the queue, back. Idempotent. */
  release(): void;
}

interface Waiting {
  readonly lane: Lane;
  readonly granted: () => void;
  state: "waiting" | "held" | "released";
}

interface Lane {
  readonly name: string;
  readonly limit: number;
  held: number;
  readonly queue: Waiting[];
}

/** Bounds how many calls run at once, in the process and by tool. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #lanes = new Map<string, Lane>();
  #held = 0;
  #queued = 0;
  #isServing = false;
  #isUnserved = false;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get held(): number {
    return this.#held;
  }

  get queued(): number {
    return this.#queued;
  }

  /**
   * Asks for a slot; `granted` is called at once where one is free, later where there is room to
   * wait.
   *
   * @param limit how many slots this tool may hold; `null`: as many as there are
   * @throws ToolPortError OVERLOADED where the queue is full
   */
  acquire(tool: string, limit: number | null, granted: () => void): Slot {
    const lane = this.#lanes.get(tool) ?? {
      name: tool,
      limit: limit ?? Infinity,
      held: 0,
      queue: [],
    };
    const waiting: Waiting = { lane, granted, state: "waiting" };
    const slot: Slot = { release: () => this.#release(waiting) };
    if (lane.queue.length === 0 && this.#hasRoom(lane)) {
      this.#grant(waiting);
    } else if (this.#queued >= this.#limits.queued) {
      throw new ToolPortError(
        "OVERLOADED",
        `${this.#held} calls run and ${this.#queued} wait, which is as many as may; ask again later`,
        { retryAfterMs: 1000 },
      );
    } else {
      lane.queue.push(waiting);
      this.#queued += 1;
      this.#lanes.set(tool, lane);
    }
    return slot;
  }

  #hasRoom(lane: Lane): boolean {
    return this.#held < this.#limits.inFlight && lane.held < lane.limit;
  }

  #grant(waiting: Waiting): void {
    waiting.state = "held";
    waiting.lane.held += 1;
    this.#held += 1;
    this.#lanes.set(waiting.lane.name, waiting.lane);
    waiting.granted();
  }

  #release(waiting: Waiting): void {
    const { lane, state } = waiting;
    if (state === "released") return;
    waiting.state = "released";
    if (state === "held") {
      lane.held -= 1;
      this.#held -= 1;
    } else {
      lane.queue.splice(lane.queue.indexOf(waiting), 1);
      this.#queued -= 1;
    }
    if (lane.held === 0 && lane.queue.length === 0) this.#lanes.delete(lane.name);
    if (this.#queued > 0) this.#serve();
  }

  /** Not nested: a slot that is given back while another is granted is served by who grants. */
  #serve(): void {
    this.#isUnserved = true;
    if (this.#isServing) return;
    this.#isServing = true;
    try {
      while (this.#isUnserved) {
        this.#isUnserved = false;
        this.#serveLanes();
      }
    } finally {
      this.#isServing = false;
    }
  }

  #serveLanes(): void {
    for (const lane of this.#lanes.values()) {
      if (this.#held >= this.#limits.inFlight) return;
      if (lane.queue.length === 0 || !this.#hasRoom(lane)) continue;
      const next = lane.queue.shift();
      if (!next) continue;
      this.#queued -= 1;
      // To the back of the line of tools, so that a busy tool does not starve the others.
      this.#lanes.delete(lane.name);
      this.#grant(next);
    }
  }
}
