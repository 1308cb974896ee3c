import type { ClientDuplexStream, ServiceError } from "@grpc/grpc-js";

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JsonValue } from "../domain/json.ts";
import { ToolPortError } from "../errors.ts";
import { parseJson, stringifyJson } from "../internal/json-text.ts";
import {
  type CallEvent,
  type HostRequest,
  type RunOpened,
  type RunRequestSchema,
  type RunResponse,
  ToolPortService,
} from "../wire/v1.ts";
import {
  type CallInput,
  executeRequestOf,
  type ExecuteOptions,
  onDisconnectOf,
} from "./call-input.ts";
import type { Channel } from "./channel.ts";
import { Execution } from "./execution.ts";
import { faultOf, faultOfStatus } from "./fault.ts";

// I1  Every call ends once: by its own event, or with the stream.
// I2  The stream is read while no more than `maxWaiting` events wait for readers of their calls, so
//     a reader that stands still holds up the run only when very much has piled up.

/** How many events may wait for the readers of a run's calls before none is read any more. */
const maxWaiting = 10_000;

/** What a host function is told beside its argument. */
export interface HostCall {
  /** The id of the call that asks. */
  readonly callId: string;
  /** Fires when no answer is needed any more. */
  readonly signal: AbortSignal;
}

/** Answers a question of a run-aware tool; what it throws is the tool's exception. */
export type Host = (payload: JsonValue, call: HostCall) => unknown;

/** What a run may be given. */
export interface RunOptions {
  /** Open only if the server serves this set; else the fault `DIGEST_MISMATCH`. */
  readonly expectedDigest?: string | undefined;
  /** What becomes of the run's calls when the connection is lost; default `abort`. */
  readonly onDisconnect?: "abort" | "continue" | undefined;
  /** Given to every call of the run. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** What run-aware tools may ask, by name. */
  readonly hosts?: Readonly<Record<string, Host>> | undefined;
}

/** A live run. */
export interface Run extends AsyncDisposable {
  readonly id: string;
  /** Resolves when the run is open; rejects with the fault that refused it. */
  readonly opened: Promise<RunOpened>;
  /** Resolves when the stream has ended, with the fault if there was one; never rejects. */
  readonly ended: Promise<ToolPortError | undefined>;
  /** Runs one call on the run, at once; `runId` need not be given. `deadlineMs` is its own. */
  execute(call: CallInput, options?: ExecuteOptions): Execution;
  /** Takes no new calls, and resolves when those in flight have ended. Rejects with a fault. */
  close(): Promise<void>;
  /** Cancels every call and ends the run. Idempotent. */
  cancel(): void;
}

/** Opens a run over a channel. */
export function openRun(channel: Channel, runId: string, options: RunOptions): Run {
  return new LiveRun(channel, runId, options);
}

interface OpenCall {
  readonly execution: Execution;
  /** Its reader is behind. */
  isPaused: boolean;
  /** How many events came since. */
  waiting: number;
}

class LiveRun implements Run {
  readonly id: string;
  readonly opened: Promise<RunOpened>;
  readonly ended: Promise<ToolPortError | undefined>;
  readonly #address: string;
  readonly #stream: ClientDuplexStream<MessageInitShape<typeof RunRequestSchema>, RunResponse>;
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #calls = new Map<bigint, OpenCall>();
  readonly #asking = new Map<string, AbortController>();
  readonly #opening = Promise.withResolvers<RunOpened>();
  readonly #ending = Promise.withResolvers<ToolPortError | undefined>();
  #waiting = 0;
  #lastTag = 0n;
  #fault: ToolPortError | undefined;
  #isClosing = false;
  #isOver = false;

  constructor(channel: Channel, runId: string, options: RunOptions) {
    this.id = runId;
    this.opened = this.#opening.promise;
    this.ended = this.#ending.promise;
    this.opened.catch(() => {});
    this.#address = channel.address;
    this.#hosts = new Map(Object.entries(options.hosts ?? {}));
    this.#stream = channel.bidiStream(ToolPortService.method.run);
    this.#stream.on("data", ({ message }: RunResponse) => this.#take(message));
    this.#stream.on("error", (error: ServiceError) => {
      this.#fault = faultOf(error, this.#address, "unknown");
    });
    this.#stream.on("end", () => this.#finish());
    const { expectedDigest = "", metadata = {} } = options;
    const onDisconnect = onDisconnectOf(options.onDisconnect);
    this.#send({
      case: "open",
      value: { runId, expectedDigest, onDisconnect, metadata: { ...metadata } },
    });
  }

  execute(call: CallInput, options: ExecuteOptions = {}): Execution {
    const request = executeRequestOf(call, options);
    const tag = (this.#lastTag += 1n);
    const source = {
      pause: () => this.#pause(tag),
      resume: () => this.#resume(tag),
      cancel: () => {
        if (this.#calls.has(tag)) this.#send({ case: "cancel", value: { tag } });
      },
    };
    const execution = new Execution(request.request.callId, source);
    if (this.#isOver || this.#isClosing) {
      execution.finish(runOver(this.id, this.#fault));
      return execution;
    }
    this.#calls.set(tag, { execution, isPaused: true, waiting: 0 });
    const { deadlineMs, signal } = options;
    this.#send({
      case: "execute",
      value: { tag, request, ...(deadlineMs === undefined ? {} : { deadlineMs }) },
    });
    if (signal) {
      const cancel = (): void => source.cancel();
      if (signal.aborted) queueMicrotask(cancel);
      else signal.addEventListener("abort", cancel, { once: true });
      execution.result.catch(() => {}).finally(() => signal.removeEventListener("abort", cancel));
    }
    return execution;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#halfClose();
    const fault = await this.ended;
    if (fault) throw fault;
  }

  cancel(): void {
    if (!this.#isOver) this.#stream.cancel();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Only when the last call has ended: until then the server may ask, and be answered. */
  #halfClose(): void {
    if (this.#isClosing && this.#calls.size === 0) this.#stream.end();
  }

  #pause(tag: bigint): void {
    const call = this.#calls.get(tag);
    if (call) call.isPaused = true;
  }

  #resume(tag: bigint): void {
    const call = this.#calls.get(tag);
    if (!call) return;
    call.isPaused = false;
    this.#forget(call);
  }

  #forget(call: OpenCall): void {
    this.#waiting -= call.waiting;
    call.waiting = 0;
    if (this.#waiting < maxWaiting) this.#stream.resume();
  }

  #over(tag: bigint, call: OpenCall, fault?: ToolPortError): void {
    this.#calls.delete(tag);
    this.#forget(call);
    call.execution.finish(fault);
    this.#halfClose();
  }

  #take(message: RunResponse["message"]): void {
    switch (message.case) {
      case "opened":
        return this.#opening.resolve(message.value);
      case "event":
        return this.#event(message.value);
      case "hostRequest":
        return void this.#answer(message.value);
      case "hostCancel":
        return this.#asking.get(message.value.requestId)?.abort();
      case undefined:
        return undefined;
    }
  }

  #event({ tag, event }: CallEvent): void {
    const call = this.#calls.get(tag);
    if (!call) return;
    if (event.case === "fault") return this.#over(tag, call, faultOfStatus(event.value));
    call.execution.take(event);
    if (event.case === "call") return this.#over(tag, call);
    if (!call.isPaused) return;
    call.waiting += 1;
    this.#waiting += 1;
    if (this.#waiting >= maxWaiting) this.#stream.pause();
  }

  async #answer({ requestId, callId, name, payloadJson }: HostRequest): Promise<void> {
    const controller = new AbortController();
    this.#asking.set(requestId, controller);
    try {
      const host = this.#hosts.get(name);
      if (!host) throw new Error(`the kernel has no host function ${JSON.stringify(name)}`);
      const result = await host(parseJson(payloadJson), { callId, signal: controller.signal });
      this.#reply(requestId, { case: "resultJson", value: stringifyJson(result) });
    } catch (thrown) {
      const value = thrown instanceof Error ? thrown.message : String(thrown);
      this.#reply(requestId, { case: "error", value });
    } finally {
      this.#asking.delete(requestId);
    }
  }

  #reply(
    requestId: string,
    reply: { case: "resultJson"; value: string } | { case: "error"; value: string },
  ): void {
    this.#send({ case: "hostReply", value: { requestId, reply } });
  }

  #send(message: MessageInitShape<typeof RunRequestSchema>["message"]): void {
    if (!this.#isOver && !this.#stream.writableEnded) {
      this.#stream.write({ message: message ?? { case: undefined } });
    }
  }

  #finish(): void {
    this.#isOver = true;
    for (const { execution } of this.#calls.values()) {
      execution.finish(this.#fault ?? runOver(this.id, undefined));
    }
    this.#calls.clear();
    for (const controller of this.#asking.values()) controller.abort();
    this.#opening.reject(this.#fault ?? runOver(this.id, undefined));
    this.#ending.resolve(this.#fault);
  }
}

function runOver(id: string, cause: ToolPortError | undefined): ToolPortError {
  return new ToolPortError("RUN_ENDED", `run ${JSON.stringify(id)} is over`, {
    ...(cause && { cause }),
  });
}
