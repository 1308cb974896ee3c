import { ToolPortError } from "../errors.ts";

// I1  At most `inFlight` slots are held in the process, and at most a tool's own number by it.
// I2  Whoever waits is served in order among those of its tool; tools take turns.
// I3  A slot is given back exactly once, and giving it back serves the next in the same turn.
// I4  What serving costs grows with the tools that somebody waits for, not with those there are.

/** How many calls may run and wait. */
export interface SlotLimits {
  readonly inFlight: number;
  readonly queued: number;
}

/** A claim on a slot that is held, or that still waits. */
export interface Slot {
  readonly isHeld: boolean;
  /** Calls `granted` once a slot that waits is held. */
  onGrant(granted: () => void): void;
  /** Gives the slot, or the place in the queue, back. Idempotent. */
  release(): void;
}

/** The slots of one tool. */
interface Lane {
  readonly name: string;
  readonly limit: number;
  held: number;
  readonly queue: Place[];
}

/** Bounds how many calls run at once, in the process and by tool. */
export class Slots {
  readonly #limits: SlotLimits;
  /** Of each tool that was ever called: there are only so many. */
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that somebody waits in, in the order of their turns. */
  readonly #waited = new Set<Lane>();
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
   * Asks for a slot, which is held at once where one is free.
   *
   * @param limit how many slots this tool may hold; `null`: as many as there are
   * @throws ToolPortError OVERLOADED where the queue is full
   */
  acquire(tool: string, limit: number | null): Slot {
    const lane = this.#laneOf(tool, limit);
    const place = new Place(lane, (one) => this.#release(one));
    if (lane.queue.length === 0 && this.#hasRoom(lane)) {
      this.#hold(place);
    } else if (this.#queued >= this.#limits.queued) {
      throw new ToolPortError(
        "OVERLOADED",
        `${this.#held} calls run and ${this.#queued} wait, which is as many as may; ask again later`,
        { retryAfterMs: 1000 },
      );
    } else {
      lane.queue.push(place);
      this.#queued += 1;
      this.#waited.add(lane);
    }
    return place;
  }

  #laneOf(name: string, limit: number | null): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = { name, limit: limit ?? Infinity, held: 0, queue: [] };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #hasRoom(lane: Lane): boolean {
    return this.#held < this.#limits.inFlight && lane.held < lane.limit;
  }

  #hold(place: Place): void {
    place.state = "held";
    place.lane.held += 1;
    this.#held += 1;
  }

  #release(place: Place): void {
    const { lane, state } = place;
    if (state === "released") return;
    place.state = "released";
    if (state === "held") {
      lane.held -= 1;
      this.#held -= 1;
    } else {
      lane.queue.splice(lane.queue.indexOf(place), 1);
      this.#queued -= 1;
      if (lane.queue.length === 0) this.#waited.delete(lane);
    }
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
    for (const lane of this.#waited) {
      if (this.#held >= this.#limits.inFlight) return;
      if (!this.#hasRoom(lane)) continue;
      const next = lane.queue.shift();
      if (!next) continue;
      this.#queued -= 1;
      // To the back of the line of tools, so that a busy tool does not starve the others.
      this.#waited.delete(lane);
      if (lane.queue.length > 0) this.#waited.add(lane);
      this.#hold(next);
      next.granted?.();
    }
  }
}

/** A place in a tool's lane: a slot, or a wait for one. */
class Place implements Slot {
  readonly lane: Lane;
  state: "waiting" | "held" | "released" = "waiting";
  granted: (() => void) | undefined;
  readonly #release: (place: Place) => void;

  constructor(lane: Lane, release: (place: Place) => void) {
    this.lane = lane;
    this.#release = release;
  }

  get isHeld(): boolean {
    return this.state === "held";
  }

  onGrant(granted: () => void): void {
    this.granted = granted;
  }

  release(): void {
    this.#release(this);
  }
}
