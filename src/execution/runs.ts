import { type CallRequest, noMetadata } from "../domain/call.ts";
import { ToolPortError } from "../errors.ts";
import { type Log, silent } from "../internal/log.ts";
import { SlotMap } from "../internal/slot-map.ts";
import { after, type Timer } from "../internal/timers.ts";
import type { Journal } from "../journal/journal.ts";
import type { RunExecutor } from "./executor.ts";
import { LiveRun } from "./live-run.ts";
import { RunCall, type RunCallHooks } from "./run-call.ts";
import type {
  HostAnswer,
  HostQuestion,
  OpenRequest,
  RunPeer,
  RunPort,
  RunSession,
} from "./run-port.ts";
import { TagSet } from "./tag-set.ts";

// I1  At most one stream holds a run; one that opens the same run takes it over, and the old one
//     ends with RUN_TAKEN_OVER.
// I2  A stream that ends in order ends its run. One that is lost ends it at once, or, where the run
//     goes on, when the grace has passed and nobody took over.
// I3  While the peer is behind, its calls' events wait with the calls; no other run notices.

/** What runs need. */
export interface RunsOptions {
  readonly executor: RunExecutor;
  /** The digest of the set that is served. */
  readonly digest: string;
  readonly journal?: Journal | undefined;
  readonly log?: Log | undefined;
  /** How long a lost run goes on where asked to, in milliseconds. Default 60 s. */
  readonly continueGraceMs?: number | undefined;
}

/** How often a live run says that it is, so that its records are kept, in milliseconds. */
const touchEveryMs = 60_000;

/** Makes the port that opens live runs. */
export function createRuns(options: RunsOptions): RunPort {
  return new Runs(options);
}

class Runs implements RunPort {
  readonly options: RunsOptions;
  readonly #sessions = new Map<string, Session>();
  #closedBy: ToolPortError | undefined;

  constructor(options: RunsOptions) {
    this.options = options;
  }

  open(request: OpenRequest, peer: RunPeer): RunSession {
    const refusal = this.#closedBy ?? this.#refusal(request);
    if (refusal) {
      peer.close(refusal);
      return closedSession;
    }
    const key = JSON.stringify([peer.principal, request.runId]);
    const previous = this.#sessions.get(key);
    const run = previous?.handOver() ?? new LiveRun(request.runId, peer.principal, "abort");
    const session = new Session(this, run, request, peer, () => {
      if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    });
    this.#sessions.set(key, session);
    session.begin(previous !== undefined && this.options.executor.isRunning(run));
    return session;
  }

  close(fault: ToolPortError): void {
    this.#closedBy = fault;
    for (const session of this.#sessions.values()) session.leave("cancelled", fault);
  }

  #refusal({ runId, expectedDigest }: OpenRequest): ToolPortError | undefined {
    const { digest } = this.options;
    if (runId === "") return invalid("open has no run_id; give every run one");
    if (expectedDigest === "" || expectedDigest === digest) return undefined;
    return new ToolPortError(
      "DIGEST_MISMATCH",
      `the set that is served has the digest ${digest}, not ${expectedDigest}`,
    );
  }
}

const closedSession: RunSession = Object.freeze({
  call() {},
  fail() {},
  cancel() {},
  reply() {},
  halfClose() {},
  leave() {},
  resume() {},
});

/** One stream of one run. */
class Session implements RunSession {
  readonly #runs: Runs;
  readonly #run: LiveRun;
  readonly #open: OpenRequest;
  readonly #peer: RunPeer;
  readonly #over: () => void;
  readonly #calls = new SlotMap<bigint, RunCall>();
  readonly #tagOfCall = new Map<string, bigint>();
  readonly #tags = new TagSet();
  #touch: NodeJS.Timeout | undefined;
  #grace: Timer | undefined;
  #isPaused = false;
  #isHalfClosed = false;
  #state: "open" | "lost" | "closed" = "open";

  constructor(runs: Runs, run: LiveRun, open: OpenRequest, peer: RunPeer, over: () => void) {
    this.#runs = runs;
    this.#run = run;
    this.#open = open;
    this.#peer = peer;
    this.#over = over;
    run.onDisconnect = open.onDisconnect;
  }

  /** What the calls of this stream tell it. */
  readonly #callHooks: RunCallHooks = {
    isBehind: () => this.#isPaused,
    event: (tag, callId, event) => {
      if (!this.#peer.event(tag, callId, event)) this.#isPaused = true;
      return !this.#isPaused;
    },
    end: (tag, callId, end) => {
      this.#calls.delete(tag);
      if (this.#tagOfCall.get(callId) === tag) this.#tagOfCall.delete(callId);
      if (this.#state !== "open") return;
      this.#peer.end(tag, callId, end);
      if (this.#isHalfClosed && this.#calls.size === 0) this.#finish();
    },
  };

  begin(resumed: boolean): void {
    const { journal, log = silent } = this.#runs.options;
    if (journal) {
      const runKey = { principal: this.#run.principal, runId: this.#run.id };
      const touch = (): void => {
        journal.touch(runKey).catch((error: unknown) => {
          log("warn", "the journal could not be told that a run is live", { error });
        });
      };
      touch();
      this.#touch = setInterval(touch, touchEveryMs).unref();
    }
    this.#run.holdBy({
      tagOf: (callId) => this.#tagOf(callId),
      ask: (question: HostQuestion) => this.#peer.ask(question),
      unask: (requestId, tag) => this.#peer.unask(requestId, tag),
    });
    this.#peer.opened(resumed);
    this.#run.askAgain();
  }

  call(tag: bigint, request: CallRequest, deadlineMs?: number): void {
    if (!this.#use(tag)) return;
    const call = new RunCall(tag, request.callId, this.#run.principal, this.#callHooks);
    this.#calls.set(tag, call);
    this.#tagOfCall.set(call.callId, tag);
    const fault = this.#faultOf(request);
    if (fault) return call.end({ kind: "fault", fault });
    const { executor } = this.#runs.options;
    const full: CallRequest = {
      ...request,
      runId: this.#run.id,
      onDisconnect: this.#run.onDisconnect,
      metadata: mergeMetadata(this.#open.metadata, request.metadata),
    };
    call.ticket = executor.execute(full, call, deadlineMs, this.#run);
    return undefined;
  }

  fail(tag: bigint, callId: string, fault: ToolPortError): void {
    if (this.#use(tag)) this.#peer.end(tag, callId, { kind: "fault", fault });
  }

  cancel(tag: bigint): void {
    this.#calls.get(tag)?.ticket?.leave("cancelled");
  }

  reply(requestId: string, answer: HostAnswer): void {
    if (this.#state === "open") this.#run.answer(requestId, answer);
  }

  halfClose(): void {
    if (this.#state !== "open") return;
    this.#isHalfClosed = true;
    if (this.#calls.size === 0) this.#finish();
  }

  leave(cause: "cancelled" | "deadline" | "disconnected", fault?: ToolPortError): void {
    if (this.#state === "lost" && cause !== "disconnected") return this.#endRun();
    if (this.#state !== "open") return undefined;
    const goesOn = cause === "disconnected" && this.#run.onDisconnect === "continue";
    this.#detach(cause);
    this.#peer.close(fault);
    if (!goesOn || !this.#runs.options.journal) return this.#endRun();
    this.#state = "lost";
    const graceMs = this.#runs.options.continueGraceMs ?? 60_000;
    this.#grace = after(graceMs, () => this.#endRun());
    return undefined;
  }

  /** Lets another stream have the run. */
  handOver(): LiveRun {
    const wasOpen = this.#state === "open";
    this.#grace?.stop();
    if (wasOpen) {
      this.#detach("disconnected");
      const text = `another stream has opened run ${JSON.stringify(this.#run.id)}`;
      this.#peer.close(new ToolPortError("RUN_TAKEN_OVER", text, { started: "unknown" }));
    }
    this.#state = "closed";
    this.#stop();
    return this.#run;
  }

  resume(): void {
    this.#isPaused = false;
    let left = this.#calls.size;
    for (const [tag, call] of this.#calls) {
      if (this.#isPaused || left === 0) return;
      left -= 1;
      // To the back of the line, so that one call's flood does not starve the others.
      this.#calls.delete(tag);
      this.#calls.set(tag, call);
      call.ticket?.resume();
    }
  }

  /** By its id; of several callers of one call, any. */
  #tagOf(callId: string): bigint {
    const known = this.#tagOfCall.get(callId);
    if (known !== undefined) return known;
    for (const [tag, call] of this.#calls) if (call.callId === callId) return tag;
    return 0n;
  }

  /** Uses a tag up; one that may not be used ends the stream. */
  #use(tag: bigint): boolean {
    if (this.#state !== "open") return false;
    if (this.#tags.add(tag)) return true;
    const why = tag === 0n ? "a tag is never 0" : `tag ${tag} was used before on this stream`;
    this.leave("cancelled", invalid(why));
    return false;
  }

  #faultOf(request: CallRequest): ToolPortError | undefined {
    if (request.runId === "" || request.runId === this.#run.id) return undefined;
    return invalid(
      `the request names run ${JSON.stringify(request.runId)} on the stream of run ${JSON.stringify(this.#run.id)}; leave run_id empty`,
    );
  }

  /** Leaves every call; the peer is told none of their ends any more. */
  #detach(cause: "cancelled" | "deadline" | "disconnected"): void {
    this.#state = "closed";
    this.#run.holdBy(undefined);
    for (const call of [...this.#calls.values()]) call.ticket?.leave(cause);
    this.#calls.clear();
  }

  #finish(): void {
    this.#peer.close();
    this.#endRun();
  }

  #endRun(): void {
    this.#state = "closed";
    this.#grace?.stop();
    this.#stop();
    this.#run.end();
  }

  #stop(): void {
    clearInterval(this.#touch);
    this.#over();
  }
}

/** Frozen and without a prototype, so that any key is only a key. */
function mergeMetadata(
  ofRun: Readonly<Record<string, string>>,
  ofCall: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  // Both are such objects already.
  if (ofCall === noMetadata) return ofRun;
  if (ofRun === noMetadata) return ofCall;
  return Object.freeze(Object.assign(Object.create(null) as Record<string, string>, ofRun, ofCall));
}

function invalid(message: string): ToolPortError {
  return new ToolPortError("REQUEST_INVALID", message);
}
