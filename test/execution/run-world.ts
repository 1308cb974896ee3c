import type { CallEvent } from "../../src/domain/call.ts";
import type { ToolPortError } from "../../src/errors.ts";
import {
  createExecutor,
  type ExecutorOptions,
  type RunExecutor,
} from "../../src/execution/executor.ts";
import type { CallEnd } from "../../src/execution/port.ts";
import type {
  HostQuestion,
  OpenRequest,
  RunPeer,
  RunPort,
  RunSession,
} from "../../src/execution/run-port.ts";
import { createRuns } from "../../src/execution/runs.ts";
import { registryOf, stray, type TestTool, until } from "./world.ts";

/** A stream that writes down what it is told. */
export class Stream implements RunPeer {
  readonly principal: string;
  resumed: boolean | undefined;
  readonly events: CallEvent[] = [];
  readonly ends: Map<bigint, CallEnd> = new Map();
  readonly questions: HostQuestion[] = [];
  readonly unasked: string[] = [];
  readonly unaskedTags: bigint[] = [];
  closed: { fault: ToolPortError | undefined } | undefined;
  takes: boolean = true;
  session!: RunSession;

  constructor(principal = "") {
    this.principal = principal;
  }

  opened(resumed: boolean): void {
    this.resumed = resumed;
  }
  event(_tag: bigint, _callId: string, event: CallEvent): boolean {
    this.events.push(event);
    return this.takes;
  }
  end(tag: bigint, _callId: string, end: CallEnd): void {
    if (this.ends.has(tag) || this.closed) stray("an end too many");
    this.ends.set(tag, end);
  }
  ask(question: HostQuestion): void {
    this.questions.push(question);
  }
  unask(requestId: string, tag: bigint): void {
    this.unasked.push(requestId);
    this.unaskedTags.push(tag);
  }
  close(fault?: ToolPortError): void {
    if (this.closed) stray("closed twice");
    this.closed = { fault };
  }
  async result(tag: bigint): Promise<string> {
    await until(() => this.ends.has(tag));
    const end = this.ends.get(tag);
    if (end?.kind !== "outcome") return end?.fault.code ?? "";
    return end.outcome.ok ? end.outcome.result : end.outcome.error;
  }
}

/** Opens runs on an executor of its own. */
export function portOf(
  tools: Readonly<Record<string, TestTool>>,
  options: Omit<ExecutorOptions, "registry"> = {},
): RunPort & { readonly executor: RunExecutor } {
  const registry = registryOf(tools);
  const executor = createExecutor({ registry, ...options });
  const { journal, log, continueGraceMs } = options;
  const runs = createRuns({ executor, digest: registry.digest, journal, log, continueGraceMs });
  return {
    executor,
    open: (request, peer) => runs.open(request, peer),
    close: (fault) => runs.close(fault),
  };
}

/** Opens a run on a stream of its own. */
export function open(
  port: RunPort,
  rest: Partial<OpenRequest> = {},
  stream: Stream = new Stream(),
): Stream {
  stream.session = port.open(
    { runId: "r", expectedDigest: "", onDisconnect: "abort", metadata: {}, ...rest },
    stream,
  );
  return stream;
}
