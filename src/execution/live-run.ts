import type { CallRequest, OnDisconnect } from "../domain/call.ts";
import type { JsonValue } from "../domain/json.ts";
import type { RunContext } from "../domain/run.ts";
import { ToolPortError } from "../errors.ts";
import { parseJson } from "../internal/json-text.ts";
import { stringifyWhole } from "../internal/whole-json.ts";
import type { CallRun } from "./executor.ts";
import type { HostAnswer, HostQuestion } from "./run-port.ts";

/** The stream that holds a run at the moment. */
export interface Holder {
  /** The tag of a call on this stream; 0 where it has none here. */
  tagOf(callId: string): bigint;
  ask(question: HostQuestion): void;
  unask(requestId: string, tag: bigint): void;
}

interface Asked {
  readonly callId: string;
  readonly name: string;
  readonly payloadJson: string;
  readonly settle: (answer: HostAnswer | Error) => void;
  /** The tag that the kernel was last told; 0 where it knows the call by none. */
  tag: bigint;
}

// I1  A run is live from its opening to its end, across the streams that take it over.
// I2  Each question is settled once: by its answer, by the end of the call that asks, or by the end
//     of the run. Questions that wait when a stream takes over are asked again under the same id.

/** One live run: what its run-aware tools see, and the questions that wait for the kernel. */
export class LiveRun implements CallRun {
  readonly id: string;
  readonly principal: string;
  onDisconnect: OnDisconnect;
  #holder: Holder | undefined;
  #isLive = true;
  #questions = 0;
  readonly #asked = new Map<string, Asked>();

  constructor(id: string, principal: string, onDisconnect: OnDisconnect) {
    this.id = id;
    this.principal = principal;
    this.onDisconnect = onDisconnect;
  }

  get live(): boolean {
    return this.#isLive;
  }

  /** Gives the run to a stream, or to none. */
  holdBy(holder: Holder | undefined): void {
    this.#holder = holder;
  }

  /** Asks what still waits again, of the stream that holds the run now. */
  askAgain(): void {
    for (const [requestId, asked] of this.#asked) this.#send(requestId, asked);
  }

  contextFor(request: CallRequest, onEnd: (listener: () => void) => void): RunContext {
    const isLive = () => this.#isLive;
    const open = new Set<string>();
    let isOver = false;
    onEnd(() => {
      isOver = true;
      for (const requestId of open) this.#giveUp(requestId);
    });
    const ask = (name: string, payload: JsonValue = null): Promise<JsonValue> => {
      if (isOver) return Promise.reject(callOver(request.callId));
      return this.#ask(request.callId, name, payload, open);
    };
    return Object.freeze({
      id: this.id,
      get live() {
        return isLive();
      },
      ask,
    });
  }

  /** The kernel answers; one that nobody waits for is ignored. */
  answer(requestId: string, answer: HostAnswer): void {
    this.#take(requestId)?.settle(answer);
  }

  /** Ends the run. Idempotent. */
  end(): void {
    this.#isLive = false;
    this.#holder = undefined;
    for (const requestId of this.#asked.keys()) this.#take(requestId)?.settle(runOver(this.id));
  }

  #ask(callId: string, name: string, payload: JsonValue, open: Set<string>): Promise<JsonValue> {
    if (!this.#isLive) return Promise.reject(runOver(this.id));
    return new Promise((resolve, reject) => {
      const payloadJson = stringifyWhole(payload);
      const requestId = `q${++this.#questions}`;
      const settle = (answer: HostAnswer | Error): void => {
        open.delete(requestId);
        if (answer instanceof Error) reject(answer);
        else if (!answer.ok) reject(new ToolPortError("HOST_ERROR", answer.error));
        else {
          try {
            resolve(answer.resultJson.trim() === "" ? null : parseJson(answer.resultJson));
          } catch (cause) {
            const text = `the host's answer to ${JSON.stringify(name)} is not JSON`;
            reject(new ToolPortError("HOST_ERROR", text, { cause }));
          }
        }
      };
      const asked: Asked = { callId, name, payloadJson, settle, tag: 0n };
      open.add(requestId);
      this.#asked.set(requestId, asked);
      this.#send(requestId, asked);
    });
  }

  #send(requestId: string, asked: Asked): void {
    if (!this.#holder) return;
    const { callId, name, payloadJson } = asked;
    asked.tag = this.#holder.tagOf(callId);
    this.#holder.ask({ requestId, tag: asked.tag, callId, name, payloadJson });
  }

  #giveUp(requestId: string): void {
    const asked = this.#take(requestId);
    if (!asked) return;
    this.#holder?.unask(requestId, asked.tag);
    asked.settle(callOver(asked.callId));
  }

  #take(requestId: string): Asked | undefined {
    const asked = this.#asked.get(requestId);
    this.#asked.delete(requestId);
    return asked;
  }
}

function runOver(id: string): ToolPortError {
  return new ToolPortError("RUN_ENDED", `run ${JSON.stringify(id)} is no longer live`);
}

/** As the signal's own reason, so that a tool which lets it through has no outcome of its own. */
function callOver(callId: string): DOMException {
  return new DOMException(`call ${JSON.stringify(callId)} has ended`, "AbortError");
}
