import type { CallEvent, CallRequest, Outcome } from "../../src/domain/call.ts";
import type { Registry, Tool, ToolContext, ToolLimits } from "../../src/domain/tool.ts";
import type { ToolPortError } from "../../src/errors.ts";
import {
  createExecutor,
  type ExecutorOptions,
  type RunExecutor,
} from "../../src/execution/executor.ts";
import type { CallEnd, Caller, Ticket } from "../../src/execution/port.ts";

/** A tool of a test: a body, and what of descriptor and limits matters. */
export interface TestTool {
  readonly execute: (args: unknown, context: ToolContext) => unknown;
  readonly limits?: Partial<ToolLimits>;
  readonly idempotent?: boolean;
  readonly runAware?: boolean;
  readonly maxCallsPerInvocation?: number;
  readonly check?: Tool["check"];
}

/** A frozen set of tools made by hand, so that these tests need no registry. */
export function registryOf(
  tools: Readonly<Record<string, TestTool>>,
  digest = "sha256:set",
): Registry {
  const made = Object.entries(tools).map(([name, tool]): Tool => ({
    descriptor: {
      name,
      description: "",
      summary: "",
      manifestEntry: name,
      hidden: false,
      inputSchema: {},
      outputSchema: null,
      category: null,
      safetyLevel: null,
      costUsd: null,
      requires: null,
      maxCallsPerInvocation: tool.maxCallsPerInvocation ?? null,
      scope: null,
      routingMode: null,
      timeoutMs: tool.limits?.timeoutMs ?? null,
      runAware: tool.runAware ?? false,
      idempotent: tool.idempotent ?? false,
      readOnly: null,
      destructive: null,
      openWorld: null,
      capability: "",
    },
    limits: {
      timeoutMs: null,
      maxTimeoutMs: null,
      concurrency: null,
      isolate: null,
      largeResults: "refuse",
      ...tool.limits,
    },
    source: tool,
    check: tool.check ?? ((args) => ({ ok: true, value: args })),
    execute: tool.execute,
  }));
  const byName = new Map(made.map((tool) => [tool.descriptor.name, tool]));
  return { tools: made, digest, get: (name) => byName.get(name) };
}

/** An executor over such a set. */
export function executorOf(
  tools: Readonly<Record<string, TestTool>>,
  options: Omit<ExecutorOptions, "registry"> = {},
): RunExecutor {
  return createExecutor({ registry: registryOf(tools), ...options });
}

let calls = 0;

/** A request with everything left out that a test does not speak of. */
export function requestOf(name: string, rest: Partial<CallRequest> = {}): CallRequest {
  calls += 1;
  return {
    runId: "",
    callId: `call-${calls}`,
    name,
    argumentsJson: "{}",
    timeoutMs: undefined,
    expectedDigest: "",
    onDisconnect: "abort",
    metadata: {},
    acceptChunks: false,
    ...rest,
  };
}

/** A caller that writes down what it is told, and says when it is told too much. */
export class Witness implements Caller {
  readonly principal: string;
  readonly events: CallEvent[] = [];
  readonly ended: Promise<CallEnd>;
  end_: CallEnd | undefined;
  takes = true;
  #resolve!: (end: CallEnd) => void;

  constructor(principal = "") {
    this.principal = principal;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  event(event: CallEvent): boolean {
    if (this.end_) stray("an event came after the end");
    this.events.push(event);
    return this.takes;
  }

  end(end: CallEnd): void {
    if (this.end_) stray("a second end came");
    this.end_ = end;
    this.#resolve(end);
  }

  async outcome(): Promise<Outcome> {
    const end = await this.ended;
    if (end.kind === "fault") throw end.fault;
    return end.outcome;
  }

  async fault(): Promise<ToolPortError> {
    const end = await this.ended;
    if (end.kind === "outcome") throw new Error(`an outcome came: ${JSON.stringify(end.outcome)}`);
    return end.fault;
  }
}

/** Fails the test file: what a caller throws is only logged. */
export function stray(text: string): void {
  const error = new Error(text);
  setImmediate(() => {
    throw error;
  });
}

/** Asks for a call and writes down what comes. */
export function ask(
  executor: RunExecutor,
  request: CallRequest,
  deadlineMs?: number,
  witness: Witness = new Witness(),
): Witness & { ticket: Ticket } {
  const ticket = executor.execute(request, witness, deadlineMs);
  return Object.assign(witness, { ticket });
}

/** A promise that a test settles by hand. */
export function gate<T = void>(): {
  readonly promise: Promise<T>;
  readonly open: (value: T) => void;
  readonly fail: (error: unknown) => void;
} {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { promise, open: resolve, fail: reject };
}

/** Waits until something holds; fails after five seconds. */
export async function until(holds: () => boolean): Promise<void> {
  for (const from = performance.now(); !holds();) {
    if (performance.now() - from > 5000) throw new Error(`it never held: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
