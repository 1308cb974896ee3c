import { create, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../wire/v1.ts";
import { Inbox } from "./inbox.ts";
import type { Connection, Path, Rpc, RpcOptions, Target } from "./path.ts";

/** gRPC by grpc-js. */
export const grpcJs: Path = Object.freeze({
  name: "grpc-js gRPC",
  protocol: "grpc",
  connect({ address }: Target): Connection {
    const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
      "grpc.default_authority": "localhost",
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      // A case that expects UNAVAILABLE is not to be asked a second time.
      "grpc.enable_retries": 0,
    });
    return {
      open: (method, options) => open(client, method, options),
      close: () => client.close(),
    };
  },
});

type AnyCall =
  | grpc.ClientUnaryCall
  | grpc.ClientReadableStream<Message>
  | grpc.ClientDuplexStream<Message, Message>;

function open(client: grpc.Client, method: DescMethod, { headers, timeoutMs }: RpcOptions): Rpc {
  const inbox = new Inbox();
  const over = Promise.withResolvers<Status | undefined>();
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
  const path = `/${method.parent.typeName}/${method.name}`;
  const encode = (message: Message | Uint8Array): Buffer =>
    Buffer.from(message instanceof Uint8Array ? message : toBinary(method.input, message));
  const decode = (bytes: Buffer): Message => fromBinary(method.output, bytes);
  const end = (status: grpc.StatusObject): void => {
    over.resolve(status.code === grpc.status.OK ? undefined : statusOf(status));
    inbox.end();
  };
  const follow = (stream: Extract<AnyCall, grpc.ClientReadableStream<Message>>): void => {
    stream.on("data", (message: Message) => inbox.put(message));
    stream.on("status", end);
    // The status says it.
    stream.on("error", () => {});
  };
  let call: AnyCall | undefined;
  let isCancelled = false;
  let duplex: grpc.ClientDuplexStream<Message | Uint8Array, Message> | undefined;
  if (method.methodKind === "bidi_streaming") {
    duplex = client.makeBidiStreamRequest(path, encode, decode, metadata, options);
    call = duplex;
    follow(duplex);
  }
  return {
    send(message) {
      if (duplex) {
        if (duplex.writable) duplex.write(message);
      } else if (isCancelled) return;
      else if (method.methodKind === "server_streaming") {
        const stream = client.makeServerStreamRequest(
          path,
          encode,
          decode,
          message,
          metadata,
          options,
        );
        call = stream;
        follow(stream);
      } else {
        const unary = client.makeUnaryRequest(
          path,
          encode,
          decode,
          message,
          metadata,
          options,
          (error, answer) => {
            if (answer) inbox.put(answer);
            if (error) end(error);
          },
        );
        call = unary;
        unary.on("status", (status: grpc.StatusObject) => {
          if (status.code === grpc.status.OK) setImmediate(() => end(status));
        });
      }
    },
    halfClose: () => duplex?.end(),
    cancel() {
      isCancelled = true;
      call?.cancel();
    },
    next: () => inbox.take(),
    ended: over.promise,
  };
}

function statusOf({
  code,
  details,
  metadata,
}: Pick<grpc.StatusObject, "code" | "details" | "metadata">): Status {
  const [bytes] = metadata.get("grpc-status-details-bin");
  if (bytes instanceof Buffer) return fromBinary(StatusSchema, bytes);
  return create(StatusSchema, { code, message: details });
}
