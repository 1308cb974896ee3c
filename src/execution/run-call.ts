import type { CallEvent } from "../domain/call.ts";
import type { CallEnd, Caller, Ticket } from "./port.ts";

/** What the calls of one stream tell it. */
export interface RunCallHooks {
  /** Whether the stream takes no events for now. */
  isBehind(): boolean;
  /** @returns false to say: no more until the ticket's resume */
  event(tag: bigint, callId: string, event: CallEvent): boolean;
  end(tag: bigint, callId: string, end: CallEnd): void;
}

/** A run's stream as the caller of one of its calls. */
export class RunCall implements Caller {
  readonly tag: bigint;
  readonly callId: string;
  readonly principal: string;
  ticket: Ticket | undefined;
  readonly #hooks: RunCallHooks;

  constructor(tag: bigint, callId: string, principal: string, hooks: RunCallHooks) {
    this.tag = tag;
    this.callId = callId;
    this.principal = principal;
    this.#hooks = hooks;
  }

  get isBehind(): boolean {
    return this.#hooks.isBehind();
  }

  event(event: CallEvent): boolean {
    return this.#hooks.event(this.tag, this.callId, event);
  }

  end(end: CallEnd): void {
    this.#hooks.end(this.tag, this.callId, end);
  }
}
