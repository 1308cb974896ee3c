import {
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  create,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { ToolPortError } from "../errors.ts";
import { faultOf } from "./fault.ts";

/** How to reach a server. */
export interface ConnectOptions {
  /** `unix:/path/to/socket`, or `host:port`. */
  readonly address: string;
  /** The server's bearer token; a unix socket usually asks for none. */
  readonly token?: string | undefined;
  /**
   * The largest message in bytes, either way; default 64 MiB, the server's own default. The server's
   * limit is `server.maxMessageBytes` in the manifest.
   */
  readonly maxMessageBytes?: number | undefined;
}

/** What any request may be given beside its message. */
export interface RequestOptions {
  /** Cancels the request when it fires. */
  readonly signal?: AbortSignal | undefined;
  /** When to give up, in milliseconds from now; the fault is then `DEADLINE_EXCEEDED`. */
  readonly deadlineMs?: number | undefined;
}

/** One connection, made when it is first needed and made again when it was lost. */
export class Channel {
  readonly address: string;
  readonly #client: grpc.Client;
  readonly #metadata = new grpc.Metadata();

  /** @throws ToolPortError `REQUEST_INVALID` for an address of another form */
  constructor(options: ConnectOptions) {
    this.address = checkAddress(options.address);
    if (options.token !== undefined) this.#metadata.set("authorization", bearer(options.token));
    const maxBytes = options.maxMessageBytes ?? 64 * 1024 * 1024;
    this.#client = new grpc.Client(this.address, grpc.credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
      "grpc.max_receive_message_length": maxBytes,
      "grpc.max_send_message_length": maxBytes,
      // The server lets a peer ping every 10 s; a dead one is noticed within 30 s.
      "grpc.keepalive_time_ms": 20_000,
      "grpc.keepalive_timeout_ms": 10_000,
      // A sidecar is near: neither a proxy of the environment nor a TXT record has a say.
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 2_000,
    });
  }

  /** Waits until there is a connection; {@link ToolPortError} `UNREACHABLE` after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(Date.now() + timeoutMs, (error) => {
        if (!error) return resolve();
        const text = `no server answers at ${this.address} within ${timeoutMs} ms`;
        reject(new ToolPortError("UNREACHABLE", text, { cause: error }));
      });
    });
  }

  /** One request, one response. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: RequestOptions = {},
  ): Promise<MessageShape<O>> {
    const bytes = encode(method, init);
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        pathOf(method),
        same,
        (data: Buffer) => fromBinary(method.output, data),
        bytes,
        this.#metadata.clone(),
        callOptions(options),
        (error, response) => {
          release();
          if (error) reject(faultOf(error, this.address, "no"));
          else if (response) resolve(response);
          else reject(new ToolPortError("INTERNAL", `${method.name} ended without a response`));
        },
      );
      const release = cancelOn(options.signal, call);
    });
  }

  /** One request, any number of responses. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    init: MessageInitShape<I>,
    options: RequestOptions = {},
  ): grpc.ClientReadableStream<MessageShape<O>> {
    const stream = this.#client.makeServerStreamRequest(
      pathOf(method),
      same,
      (data: Buffer) => fromBinary(method.output, data),
      encode(method, init),
      this.#metadata.clone(),
      callOptions(options),
    );
    stream.once("status", cancelOn(options.signal, stream));
    return stream;
  }

  /** Any number of requests and responses. */
  bidiStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    options: RequestOptions = {},
  ): grpc.ClientDuplexStream<MessageInitShape<I>, MessageShape<O>> {
    const stream = this.#client.makeBidiStreamRequest<MessageInitShape<I>, MessageShape<O>>(
      pathOf(method),
      (init) => encode(method, init),
      (data: Buffer) => fromBinary(method.output, data),
      this.#metadata.clone(),
      callOptions(options),
    );
    stream.once("status", cancelOn(options.signal, stream));
    return stream;
  }

  /** Takes no new requests; the connection ends when those under way have. */
  close(): void {
    this.#client.close();
  }
}

function checkAddress(address: string): string {
  if (/^unix:.+/u.test(address)) return address;
  const port = /^(?:\[[\da-fA-F:.%\w]+\]|[^:/\s[\]]+):(?<port>\d+)$/u.exec(address)?.groups?.[
    "port"
  ];
  if (port !== undefined && Number(port) <= 65_535) return address;
  throw new ToolPortError(
    "REQUEST_INVALID",
    port === undefined
      ? `cannot connect to ${JSON.stringify(address)}: expected unix:/path/to/socket or host:port`
      : `cannot connect to ${JSON.stringify(address)}: its port is ${port}, but the highest is 65535`,
  );
}

function bearer(token: string): string {
  if (/^[\x21-\x7e]+$/u.test(token)) return `Bearer ${token}`;
  // The token itself stays out of the text: it is a secret.
  throw new ToolPortError(
    "REQUEST_INVALID",
    "the token is empty or has a character no header can carry",
  );
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

function encode<M extends DescMethod>(method: M, init: MessageInitShape<M["input"]>): Buffer {
  try {
    return Buffer.from(toBinary(method.input, create(method.input, init)));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const text = `cannot encode the request of ${method.name}: ${why}`;
    throw new ToolPortError("REQUEST_INVALID", text, { cause: error });
  }
}

function callOptions(options: RequestOptions): grpc.CallOptions {
  return options.deadlineMs === undefined ? {} : { deadline: Date.now() + options.deadlineMs };
}

/** Returns what lets go of the signal. */
function cancelOn(signal: AbortSignal | undefined, call: { cancel(): void }): () => void {
  if (!signal) return () => {};
  const cancel = (): void => call.cancel();
  if (signal.aborted) queueMicrotask(cancel);
  else signal.addEventListener("abort", cancel, { once: true });
  return () => signal.removeEventListener("abort", cancel);
}
