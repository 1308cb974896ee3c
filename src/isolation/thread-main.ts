/**
 * What a worker thread for isolated tools runs: it loads the tools file once more, builds the same
 * set, and runs the calls that it is sent, one at a time.
 */
import { basename } from "node:path";
import { isMainThread, receiveMessageOnPort, workerData } from "node:worker_threads";

import { loadToolsFile } from "../config/tools-file.ts";
import type { Registry } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { describeError } from "../execution/describe-error.ts";
import { currentTool } from "../internal/current-tool.ts";
import { withListings } from "../mounts/mounted-capability.ts";
import { buildRegistry } from "../registry/build-registry.ts";
import { crossEnd, crossError, crossEvent, uncrossableEnd } from "./crossing.ts";
import { Flow } from "./flow.ts";
import { Outlet } from "./outlet.ts";
import type { FromThread, ThreadSetup, ToThread } from "./protocol.ts";
import { ThreadCall } from "./thread-call.ts";

/** Runs the calls that arrive at a port. */
class ThreadServer {
  readonly #setup: ThreadSetup;
  readonly #registry: Registry;
  readonly #flow: Flow;
  readonly #outlet: Outlet;
  #call: ThreadCall | undefined;

  constructor(setup: ThreadSetup, registry: Registry) {
    this.#setup = setup;
    this.#registry = registry;
    this.#flow = new Flow(setup.flow);
    this.#outlet = new Outlet(this.#flow, (seq, event, weight) => {
      const { value, transfer } = crossEvent(event);
      this.#say({ kind: "event", seq, event: value, weight }, transfer);
    });
  }

  receive(message: ToThread): void {
    if (message.kind === "end") process.exit();
    if (message.kind === "call") return this.#start(message);
    const call = this.#call;
    if (call?.seq !== message.seq) return undefined;
    switch (message.kind) {
      case "abort":
        return call.abort(message.cause);
      case "room":
        return this.#outlet.release();
      case "answer":
        return call.answer(message.question, message.answer);
      case "run-ended":
        return call.endRun();
    }
  }

  #start(message: Extract<ToThread, { kind: "call" }>): void {
    const { seq, origin } = message;
    const { name } = origin.request;
    const tool = this.#registry.get(name);
    // Of the same digest, so the tool is there.
    if (!tool || !this.#flow.claim(seq)) return;
    this.#say({ kind: "began", seq });
    const call = new ThreadCall(message, tool, {
      outlet: this.#outlet,
      ask: (question, asked, payloadJson) => {
        this.#say({ kind: "ask", seq, question, name: asked, payloadJson });
      },
      settled: (end) => void this.#settle(seq, name, end),
      isOver: () => this.#flow.isOver(seq),
      receive: () => this.#receiveWaiting(),
    });
    // Known before it starts: a body that never yields is told of its abort all the same.
    this.#call = call;
    call.start();
  }

  #receiveWaiting(): void {
    for (;;) {
      const next: { message: ToThread } | undefined = receiveMessageOnPort(this.#setup.port);
      if (!next) return;
      this.receive(next.message);
    }
  }

  async #settle(seq: number, name: string, ended: Parameters<typeof crossEnd>[1]): Promise<void> {
    const { value: end, transfer } = await crossEnd(name, ended);
    this.#outlet.flush();
    try {
      this.#say({ kind: "settled", seq, end }, transfer);
    } catch (thrown) {
      this.#say({ kind: "settled", seq, end: uncrossableEnd(name, thrown) });
    }
  }

  #say(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#setup.port.postMessage(message, transfer);
  }
}

/** Nothing that a tool leaves behind ends the thread, and nothing it prints reaches standard output. */
function guardThread({ port }: ThreadSetup): void {
  const tell =
    (event: string) =>
    (thrown: unknown): void => {
      const message: FromThread = {
        kind: "log",
        level: "error",
        event,
        tool: currentTool(),
        error: crossError(thrown),
      };
      port.postMessage(message);
    };
  process.on("uncaughtException", tell("stray_error"));
  process.on("unhandledRejection", tell("stray_rejection"));
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

async function load({ toolsFile, mounted, digest }: ThreadSetup): Promise<Registry> {
  const { tools, capabilities } = await loadToolsFile(toolsFile);
  const registry = buildRegistry({ tools, capabilities: withListings(capabilities, mounted) });
  if (registry.digest === digest) return registry;
  throw new ConfigurationError(
    `${toolsFile} defines another set of tools here (${registry.digest}) than when the server started (${digest}); restart the server, or have the file define the same tools each time it is loaded`,
  );
}

async function serve(setup: ThreadSetup): Promise<void> {
  guardThread(setup);
  const { port, toolsFile } = setup;
  try {
    const server = new ThreadServer(setup, await load(setup));
    port.on("message", (message: ToThread) => server.receive(message));
    port.postMessage({ kind: "ready" } satisfies FromThread);
  } catch (thrown) {
    // Models read it: the file's own name says enough.
    const text =
      thrown instanceof ConfigurationError ? thrown.message : describeError(thrown).error;
    const message = text.replaceAll(toolsFile, basename(toolsFile));
    port.postMessage({ kind: "failed", message } satisfies FromThread);
    process.exit(1);
  }
}

if (!isMainThread) await serve(workerData as ThreadSetup);
