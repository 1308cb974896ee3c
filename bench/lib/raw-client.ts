import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import {
  type ExecuteRequestSchema,
  type ExecuteResponse,
  type RunRequest,
  RunRequestSchema,
  type RunResponse,
  ToolPortService,
} from "../../src/wire/v1.ts";

type RunMessage = NonNullable<MessageInitShape<typeof RunRequestSchema>["message"]>;

/** How a call on a run ended: `ok`, an error's kind, or a fault's gRPC code. */
export type End =
  | { readonly kind: "outcome"; readonly errorKind: number; readonly text: string }
  | { readonly kind: "fault"; readonly code: number; readonly message: string };

/** A connection of its own to a sidecar. */
export class RawClient {
  readonly #client: grpc.Client;

  constructor(address: string) {
    this.#client = new grpc.Client(address, grpc.credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
      "grpc.use_local_subchannel_pool": 1,
      "grpc.max_receive_message_length": -1,
      "grpc.enable_http_proxy": 0,
    });
  }

  /** Opens a live run. */
  run(runId: string): RawRun {
    const { method } = ToolPortService;
    const stream = this.#client.makeBidiStreamRequest(
      `/${ToolPortService.typeName}/${method.run.name}`,
      (message: RunRequest) => Buffer.from(toBinary(method.run.input, message)),
      (bytes: Buffer) => fromBinary(method.run.output, bytes),
    );
    return new RawRun(stream, runId);
  }

  /** Executes one call; nothing is read until somebody listens. */
  execute(
    request: MessageInitShape<typeof ExecuteRequestSchema>,
  ): grpc.ClientReadableStream<ExecuteResponse> {
    const { execute } = ToolPortService.method;
    const bytes = Buffer.from(toBinary(execute.input, create(execute.input, request)));
    return this.#client.makeServerStreamRequest(
      `/${ToolPortService.typeName}/${execute.name}`,
      (data: Buffer) => data,
      (data: Buffer) => fromBinary(execute.output, data),
      bytes,
    );
  }

  close(): void {
    this.#client.close();
  }
}

/** A live run on one stream. */
export class RawRun {
  readonly #stream: grpc.ClientDuplexStream<RunRequest, RunResponse>;
  readonly #waiting = new Map<bigint, (end: End) => void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  #lastTag = 0n;

  constructor(stream: grpc.ClientDuplexStream<RunRequest, RunResponse>, runId: string) {
    this.#stream = stream;
    stream.on("data", (response: RunResponse) => this.#take(response));
    stream.on("error", (error: Error) => {
      this.#opened.reject(error);
      for (const end of this.#waiting.values()) {
        end({ kind: "fault", code: grpc.status.UNAVAILABLE, message: error.message });
      }
      this.#waiting.clear();
    });
    stream.on("end", () => this.#over.resolve());
    stream.on("close", () => this.#over.resolve());
    this.#opened.promise.catch(() => {});
    this.#send({ case: "open", value: { runId } });
  }

  /** Resolves when the server has opened the run. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Makes a call; returns its tag and its end. */
  call(
    request: MessageInitShape<typeof ExecuteRequestSchema>,
    deadlineMs?: number,
  ): { readonly tag: bigint; readonly end: Promise<End> } {
    this.#lastTag += 1n;
    const tag = this.#lastTag;
    const end = new Promise<End>((resolve) => this.#waiting.set(tag, resolve));
    this.#send({
      case: "execute",
      value: { tag, request, ...(deadlineMs === undefined ? {} : { deadlineMs }) },
    });
    return { tag, end };
  }

  cancel(tag: bigint): void {
    this.#send({ case: "cancel", value: { tag } });
  }

  /** Half-closes, and waits for the end of the stream. */
  async end(): Promise<void> {
    this.#stream.end();
    await this.#over.promise;
  }

  /** Leaves without a word. */
  abandon(): void {
    this.#stream.cancel();
  }

  #send(message: RunMessage): void {
    this.#stream.write(create(RunRequestSchema, { message }));
  }

  #take({ message }: RunResponse): void {
    if (message.case === "opened") this.#opened.resolve();
    if (message.case !== "event") return;
    const { tag, event } = message.value;
    if (event.case === "call") {
      const { errorKind, error, result } = event.value;
      this.#settle(tag, { kind: "outcome", errorKind, text: error ?? result ?? "" });
    } else if (event.case === "fault") {
      this.#settle(tag, { kind: "fault", code: event.value.code, message: event.value.message });
    }
  }

  #settle(tag: bigint, end: End): void {
    this.#waiting.get(tag)?.(end);
    this.#waiting.delete(tag);
  }
}
