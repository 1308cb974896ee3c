import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { fromBinary, toBinary, create } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../src/wire/beside.ts";

/** How long health answers took, in milliseconds. */
export interface HealthFigures {
  readonly asked: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Asks for health now and then, in a thread whose loop the load does not share. */
export class HealthProbe {
  readonly #worker: Worker;

  constructor(address: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { address } });
  }

  /** What it measured since it was last asked. */
  async figures(): Promise<HealthFigures> {
    const times = await new Promise<number[]>((resolve) => {
      this.#worker.once("message", resolve);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage("figures");
    });
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
    return { asked: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function probe(address: string, port: NonNullable<typeof parentPort>): Promise<void> {
  let times: number[] = [];
  port.on("message", () => {
    port.postMessage(times);
    times = [];
  });
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
    "grpc.enable_http_proxy": 0,
  });
  const { check } = Health.method;
  const bytes = Buffer.from(toBinary(check.input, create(check.input, {})));
  for (;;) {
    const start = performance.now();
    await new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        `/${Health.typeName}/${check.name}`,
        (data: Buffer) => data,
        (data: Buffer) => fromBinary(check.output, data),
        bytes,
        (error, response) => {
          if (error) reject(error);
          else if (response?.status === Status.SERVING) resolve();
          else reject(new Error("health says that it does not serve"));
        },
      );
    });
    times.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

if (!isMainThread && parentPort) {
  await probe((workerData as { address: string }).address, parentPort);
}
