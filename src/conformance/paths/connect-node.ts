import { connect as connectSocket } from "node:net";
import { create, type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import { AnySchema, EmptySchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { type Status, StatusSchema } from "../../wire/v1.ts";
import type { ProtocolName } from "../cases.ts";
import { anyOfDetail } from "./detail.ts";
import { Inbox } from "./inbox.ts";
import type { Connection, Path, Rpc, RpcOptions } from "./path.ts";

type TransportOptions = Parameters<typeof createGrpcTransport>[0];

/** gRPC, Connect and gRPC-Web by connect-node, over HTTP/2. */
export const connectNode: readonly Path[] = Object.freeze([
  pathOf("connect-node gRPC", "grpc", createGrpcTransport),
  pathOf("connect-node Connect", "connect", (options) =>
    createConnectTransport({ ...options, httpVersion: "2", useBinaryFormat: true }),
  ),
  pathOf("connect-node gRPC-Web", "grpc-web", (options) =>
    createGrpcWebTransport({ ...options, httpVersion: "2" }),
  ),
]);

function pathOf(
  name: string,
  protocol: ProtocolName,
  transportFor: (options: TransportOptions) => Transport,
): Path {
  return Object.freeze({
    name,
    protocol,
    connect({ address }: { readonly address: string }): Connection {
      const isUnix = address.startsWith("unix:");
      const baseUrl = isUnix ? "http://localhost" : `http://${address}`;
      const sessionManager = new Http2SessionManager(
        baseUrl,
        {},
        isUnix ? { createConnection: () => connectSocket(address.slice("unix:".length)) } : {},
      );
      const transport = transportFor({ baseUrl, sessionManager });
      return {
        open: (method, options) => open(transport, method, options),
        close: () => sessionManager.abort(),
      };
    },
  });
}

function open(transport: Transport, method: DescMethod, { headers, timeoutMs }: RpcOptions): Rpc {
  const inbox = new Inbox();
  const requests = new Inbox();
  const over = Promise.withResolvers<Status | undefined>();
  const controller = new AbortController();
  const { signal } = controller;
  const end = (thrown?: unknown): void => {
    over.resolve(thrown === undefined ? undefined : statusOf(thrown));
    inbox.end();
  };
  const stream = async (): Promise<void> => {
    const { message } = await transport.stream(
      method as DescMethod & { methodKind: "bidi_streaming" },
      signal,
      timeoutMs,
      headers,
      taken(requests) as AsyncIterable<never>,
    );
    for await (const response of message) inbox.put(response);
  };
  const unary = async (message: Message): Promise<void> => {
    const response = await transport.unary(
      method as DescMethod & { methodKind: "unary" },
      signal,
      timeoutMs,
      headers,
      message,
    );
    inbox.put(response.message);
  };
  const begin = (work: Promise<void>): void => void work.then(() => end(), end);
  if (method.methodKind === "bidi_streaming") begin(stream());
  return {
    send(message) {
      if (signal.aborted) return;
      const sent = message instanceof Uint8Array ? unknownFields(method, message) : message;
      if (method.methodKind === "bidi_streaming") return requests.put(sent);
      if (method.methodKind === "unary") return begin(unary(sent));
      requests.put(sent);
      requests.end();
      return begin(stream());
    },
    halfClose: () => requests.end(),
    cancel: () => controller.abort(),
    next: () => inbox.take(),
    ended: over.promise,
  };
}

/** A message that is written as these very bytes: a library writes fields that it does not know. */
function unknownFields({ input }: DescMethod, bytes: Uint8Array): Message {
  const { $unknown } = fromBinary(EmptySchema, bytes);
  return Object.assign(create(input), $unknown && { $unknown });
}

async function* taken(requests: Inbox): AsyncGenerator<Message> {
  for (;;) {
    const message = await requests.take();
    if (!message) return;
    yield message;
  }
}

function statusOf(thrown: unknown): Status {
  const { code, rawMessage, details } = ConnectError.from(thrown);
  return create(StatusSchema, {
    code,
    message: rawMessage,
    details: details.map((detail) => create(AnySchema, anyOfDetail(detail))),
  });
}
