import { createHash, randomUUID } from "node:crypto";
import type { CallEvent, CallRequest } from "../domain/call.ts";
import type { RunContext } from "../domain/run.ts";
import type { ToolContext } from "../domain/tool.ts";
import { ToolPortError } from "../errors.ts";
import { stringifyWhole } from "../internal/whole-json.ts";
import { asBytes, contentPart } from "./render-result.ts";

/** Why a call's signal fires. */
export type AbortCause =
  | "cancelled"
  | "disconnected"
  | "deadline"
  | "timeout"
  | "drain"
  | "overflow";

/** A call's signal, made only when somebody asks for it. */
export class LazySignal {
  #controller: AbortController | undefined;
  #cause: AbortCause | undefined;

  /** Why it fired; undefined until it does. */
  get cause(): AbortCause | undefined {
    return this.#cause;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cause) this.#controller.abort(reason(this.#cause));
    }
    return this.#controller.signal;
  }

  /** Fires the signal. Idempotent; the first cause stays. */
  abort(cause: AbortCause): void {
    if (this.#cause) return;
    this.#cause = cause;
    this.#controller?.abort(reason(cause));
  }
}

function reason(cause: AbortCause): DOMException {
  switch (cause) {
    case "deadline":
      return new DOMException("The caller's deadline has passed.", "TimeoutError");
    case "timeout":
      return new DOMException("The tool's time limit has passed.", "TimeoutError");
    case "drain":
      return new DOMException("The server is shutting down.", "AbortError");
    case "overflow":
      return new DOMException("The tool's output ran too far ahead of its reader.", "AbortError");
    case "cancelled":
      return new DOMException("The caller has cancelled the call.", "AbortError");
    case "disconnected":
      return new DOMException("The caller has gone away.", "AbortError");
  }
}

/** What a context reports to. */
export interface ContextHooks {
  emit(event: CallEvent): void;
  room(): Promise<void> | undefined;
  /** The body begins, where that is later than the making of its context. */
  began?(): void;
}

/** What the same context can be made of in another thread: plain data. */
export interface ContextOrigin {
  readonly request: CallRequest;
  readonly principal: string;
  readonly attempt: number;
}

/** The context that one attempt of a call is given. */
export class CallContext implements ToolContext {
  readonly runId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly attempt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly run: RunContext | undefined;
  readonly #request: CallRequest;
  readonly #principal: string;
  readonly #signal: LazySignal;
  readonly #hooks: ContextHooks;
  #progress: ToolContext["progress"] | undefined;
  #sendOutput: ToolContext["output"] | undefined;
  #key: string | undefined;

  constructor(
    request: CallRequest,
    principal: string,
    attempt: number,
    run: RunContext | undefined,
    signal: LazySignal,
    hooks: ContextHooks,
  ) {
    this.runId = request.runId;
    this.callId = request.callId;
    this.toolName = request.name;
    this.attempt = attempt;
    this.metadata = request.metadata;
    this.run = run;
    this.#request = request;
    this.#principal = principal;
    this.#signal = signal;
    this.#hooks = hooks;
  }

  // Closures, so that tools may take them out of the context; made for those that do.

  get progress(): ToolContext["progress"] {
    const hooks = this.#hooks;
    this.#progress ??= (done, total, message = "") => {
      requireNumber("done", done);
      if (total !== undefined) requireNumber("total", total);
      hooks.emit({ kind: "progress", done, total, message: String(message) });
    };
    return this.#progress;
  }

  get output(): ToolContext["output"] {
    this.#sendOutput ??= (value) => {
      const sent = this.#output(value);
      // Who does not await it is told by the signal; a stray rejection would say nothing more.
      sent.catch(() => {});
      return sent;
    };
    return this.#sendOutput;
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  async #output(value: unknown): Promise<void> {
    this.#hooks.emit(outputEvent(value));
    await this.#hooks.room();
    // Ends a body that does nothing but write, and has not looked at its signal.
    if (this.#signal.cause) throw reason(this.#signal.cause);
  }

  /** @internal What a thread that runs the body makes its own context of. */
  get origin(): ContextOrigin {
    return { request: this.#request, principal: this.#principal, attempt: this.attempt };
  }

  /** @internal Why the signal fired; undefined until it does. */
  get abortCause(): AbortCause | undefined {
    return this.#signal.cause;
  }

  /** @internal The body begins elsewhere: its time limit counts from here. */
  began(): void {
    this.#hooks.began?.();
  }

  /** @internal Sends an event as it is; the promise resolves when there is room for more. */
  send(event: CallEvent): Promise<void> | undefined {
    this.#hooks.emit(event);
    return this.#hooks.room();
  }

  get idempotencyKey(): string {
    // Without a run id every call is its own, so its key is too.
    this.#key ??=
      this.runId === ""
        ? randomUUID()
        : createHash("sha256")
            .update(JSON.stringify([this.#principal, this.runId, this.callId]))
            .digest("hex");
    return this.#key;
  }
}

/** Partial output as an event: text as it is, bytes and parts as content, anything else as JSON. */
export function outputEvent(value: unknown): CallEvent {
  if (typeof value === "string") return { kind: "text", text: value };
  const bytes = asBytes(value);
  if (bytes) {
    return { kind: "content", content: { mimeType: "application/octet-stream", data: bytes } };
  }
  const part = contentPart(value);
  if (part) return { kind: "content", content: part };
  return { kind: "json", json: stringifyWhole(value) };
}

function requireNumber(name: string, value: unknown): void {
  if (typeof value === "number" && Number.isFinite(value)) return;
  throw new ToolPortError(
    "REQUEST_INVALID",
    `progress takes a finite number as ${name}, got ${String(value)}`,
  );
}
