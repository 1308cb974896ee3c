import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fromJson, type JsonValue, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type Status, StatusSchema } from "../wire/v1.ts";
import type { ContractCase, Data, Expectation, Step } from "./cases.ts";
import { compare } from "./match.ts";
import type { Connection, Rpc } from "./paths/path.ts";
import { jsonOf, rpcs } from "./rpcs.ts";
import { fill, type Variables } from "./values.ts";

/** Sees what passes. */
export interface Watch {
  /** A message was sent, or has come. */
  message?(message: Message, method: DescMethod): void;
  /** An RPC ended in a fault. */
  fault?(status: Status): void;
}

/** What a case is run against. */
export interface CaseWorld {
  readonly connection: Connection;
  /** Sent with every RPC; the case's own win. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the server's manifest gives. */
  readonly digest: string;
  /** What `guarded` asks for. */
  readonly token: string;
  readonly watch?: Watch | undefined;
}

/** How long a case may take, in milliseconds. */
const caseMs = 20_000;

/**
 * Runs one case.
 *
 * @returns a sentence for each difference, beginning with the step that showed it; none where it
 *   passes
 */
export async function runCase(example: ContractCase, world: CaseWorld): Promise<readonly string[]> {
  const execution = new Execution(world);
  const late = AbortSignal.timeout(caseMs);
  let at = "";
  try {
    for (const [i, step] of example.steps.entries()) {
      at = `step ${i + 1} (${describeStep(step)})`;
      const differences = await Promise.race([execution.take(step), rejectOn(late)]);
      if (differences.length > 0) return differences.map((text) => `${at}: ${text}`);
    }
    return [];
  } catch (error) {
    return [`${at}: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    execution.close();
  }
}

function rejectOn(late: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    late.addEventListener("abort", () => {
      reject(new Error(`it did not come within ${caseMs / 1000} s`));
    });
  });
}

function describeStep(step: Step): string {
  if ("call" in step) return step.call;
  const [[verb, value] = ["", ""]] = Object.entries(step);
  return `${verb} ${String(value)}`;
}

interface OpenRpc {
  readonly method: DescMethod;
  readonly rpc: Rpc;
}

class Execution {
  readonly #world: CaseWorld;
  readonly #variables: Variables;
  readonly #rpcs = new Map<string, OpenRpc>();

  constructor(world: CaseWorld) {
    this.#world = world;
    const { digest, token } = world;
    this.#variables = new Map([
      ["run", randomUUID()],
      ["digest", digest],
      ["token", token],
    ]);
  }

  async take(step: Step): Promise<readonly string[]> {
    if ("call" in step) {
      this.#begin("the call", step.call, step);
      return await this.#end("the call", step.expect);
    }
    if ("start" in step) return this.#begin(step.start, step.rpc, step);
    if ("send" in step) return this.#send(step.send, step);
    if ("receive" in step) {
      return "anyOrder" in step
        ? await this.#receiveAll(step.receive, step.anyOrder)
        : await this.#receive(step.receive, step.message);
    }
    if ("halfClose" in step) this.#open(step.halfClose).rpc.halfClose();
    else if ("cancel" in step) this.#open(step.cancel).rpc.cancel();
    else if ("end" in step) return await this.#end(step.end, step.expect);
    else await sleep(step.pauseMs);
    return [];
  }

  close(): void {
    for (const { rpc } of this.#rpcs.values()) rpc.cancel();
  }

  #open(name: string): OpenRpc {
    const open = this.#rpcs.get(name);
    if (!open) throw new Error(`the case began no RPC ${JSON.stringify(name)}`);
    return open;
  }

  #begin(
    name: string,
    of: keyof typeof rpcs,
    step: Extract<Step, { call: string } | { start: string }>,
  ): readonly string[] {
    const method = rpcs[of];
    const own = this.#fill(step.metadata ?? {}) as Readonly<Record<string, string>>;
    const headers = { ...this.#world.headers, ...own };
    const rpc = this.#world.connection.open(method, { headers, timeoutMs: step.timeoutMs });
    this.#rpcs.set(name, { method, rpc });
    const { request, requestBytes } = step;
    if (of === "Run") return [];
    const message = request === undefined && requestBytes === undefined ? {} : request;
    return this.#send(name, {
      ...(message === undefined ? {} : { message }),
      ...(requestBytes === undefined ? {} : { requestBytes }),
    });
  }

  #send(
    name: string,
    { message, requestBytes }: { readonly message?: Data; readonly requestBytes?: string },
  ): readonly string[] {
    const { method, rpc } = this.#open(name);
    if (requestBytes !== undefined) rpc.send(new Uint8Array(Buffer.from(requestBytes, "base64")));
    else {
      const sent = fromJson(method.input, this.#fill(message ?? {}) as JsonValue);
      this.#world.watch?.message?.(sent, method);
      rpc.send(sent);
    }
    return [];
  }

  async #receive(name: string, expected: Data): Promise<readonly string[]> {
    const actual = await this.#next(name);
    if (actual === undefined) return await this.#ended(name);
    return compare(actual, this.#fill(expected), this.#variables);
  }

  async #receiveAll(name: string, expected: readonly Data[]): Promise<readonly string[]> {
    const left = [...expected];
    while (left.length > 0) {
      const actual = await this.#next(name);
      if (actual === undefined) return await this.#ended(name);
      const differences = left.map((one) => compare(actual, this.#fill(one), this.#variables));
      const match = differences.findIndex((each) => each.length === 0);
      if (match < 0) {
        const all = JSON.stringify(left);
        return [
          `${JSON.stringify(actual)} came, expected any of ${all}: ${differences.join("; ")}`,
        ];
      }
      left.splice(match, 1);
    }
    return [];
  }

  async #next(name: string): Promise<Data | undefined> {
    const { method, rpc } = this.#open(name);
    const message = await rpc.next();
    if (!message) return undefined;
    this.#world.watch?.message?.(message, method);
    return jsonOf(method.output, message);
  }

  async #ended(name: string): Promise<readonly string[]> {
    const status = await this.#open(name).rpc.ended;
    const how = status ? JSON.stringify(jsonOf(StatusSchema, status)) : "OK";
    return [`the RPC ended with ${how}, expected a message`];
  }

  async #end(name: string, expect: Expectation): Promise<readonly string[]> {
    const { rpc } = this.#open(name);
    const came: Data[] = [];
    for (let next = await this.#next(name); next !== undefined; next = await this.#next(name)) {
      came.push(next);
    }
    const status = await rpc.ended;
    this.#rpcs.delete(name);
    if (status) this.#world.watch?.fault?.(status);
    const given = status && jsonOf(StatusSchema, status);
    const { message, messages, lastMessage, fault } = expect;
    if (fault) {
      const differences = this.#compare(given ?? {}, { $fault: fault as unknown as Data });
      if (differences.length > 0) return differences;
    } else if (given !== undefined) {
      return [`the RPC ended with ${JSON.stringify(given)}, expected OK`];
    }
    if (lastMessage !== undefined) return this.#compare(came.at(-1), lastMessage);
    if (message !== undefined) return this.#compare(came, [message]);
    return this.#compare(came, messages ?? []);
  }

  #compare(actual: Data | undefined, expected: Data): readonly string[] {
    return compare(actual, this.#fill(expected), this.#variables);
  }

  #fill(data: Data): Data {
    return fill(data, this.#variables);
  }
}
