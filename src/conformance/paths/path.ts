import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ProtocolName } from "../cases.ts";
import type { Status } from "../../wire/v1.ts";

/** A way to speak to a server: a library and a protocol. */
export interface Path {
  /** For people, such as `connect-node gRPC-Web`. */
  readonly name: string;
  readonly protocol: ProtocolName;
  /** A connection to one server. */
  connect(target: Target): Connection;
}

/** A server to speak to. */
export interface Target {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
}

/** How an RPC is asked for. */
export interface RpcOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
}

/** A connection to one server. */
export interface Connection {
  open(method: DescMethod, options: RpcOptions): Rpc;
  close(): void;
}

/** One RPC. */
export interface Rpc {
  /** Sends a message, or the bytes of one. What can't be sent any more is dropped. */
  send(message: Message | Uint8Array): void;
  halfClose(): void;
  cancel(): void;
  /** The next message, or undefined once there is none. Never rejects. */
  next(): Promise<Message | undefined>;
  /** How it ended: undefined for OK. Never rejects. */
  readonly ended: Promise<Status | undefined>;
}
