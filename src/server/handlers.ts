import type { DescMessage, DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  createConnectRouter,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
  type ServiceImpl,
} from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { createHandlerFactory as grpc } from "@connectrpc/connect/protocol-grpc";
import { createHandlerFactory as grpcWeb } from "@connectrpc/connect/protocol-grpc-web";
import { ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import { toConnectError } from "../wire/faults.ts";
import { repairUnaryResponse, withDetails } from "./framework-faults.ts";
import { scopeOf } from "./scope.ts";

/** What all handlers share. */
export interface HandlerOptions {
  /** The largest message in bytes, either way, before compression. */
  readonly maxMessageBytes: number;
  readonly log: Log;
}

/** A service with its implementation. */
export interface Served {
  readonly service: DescService;
  readonly implementation: Partial<ServiceImpl<DescService>>;
}

/** Pairs a service with its implementation. */
export function served<S extends DescService>(
  service: S,
  implementation: Partial<ServiceImpl<S>>,
): Served {
  return { service, implementation };
}

/** The handlers of some services, by path, for gRPC, gRPC-Web and Connect. */
export function createHandlers(
  services: readonly Served[],
  options: HandlerOptions,
): ReadonlyMap<string, UniversalHandler> {
  const { maxMessageBytes, log } = options;
  const detailed: Interceptor = (next) => async (request) => {
    try {
      return await next(request);
    } catch (thrown) {
      if (request.signal.aborted) throw toConnectError(goneFault(), log);
      throw withDetails(thrown, maxMessageBytes, log);
    }
  };
  const common = {
    acceptCompression: [compressionGzip, compressionBrotli],
    // A sidecar's wire is a loopback or a unix socket: compressing costs more than it saves.
    compressMinBytes: 0xffff_ffff,
    readMaxBytes: maxMessageBytes,
    // What is too large is answered by the handlers, in messages; JSON may take more bytes.
    writeMaxBytes: 0xffff_ffff,
    interceptors: [detailed],
    requestGate(context: HandlerContext): void {
      const { refusal } = scopeOf(context);
      if (refusal) throw toConnectError(refusal, log);
    },
  };
  const streamed = [grpc(common), grpcWeb(common)];
  const handlers = new Map<string, UniversalHandler>();
  for (const { service, implementation } of services) {
    const { methods } = createServiceImplSpec(service, implementation);
    for (const spec of Object.values(methods)) {
      const guarded = guard(spec, options);
      const connect = createConnectRouter({ ...common, grpc: false, grpcWeb: false }).rpc(
        spec.method,
        guarded.impl as never,
      ).handlers[0];
      if (!connect) continue;
      const all = [...streamed.map((factory) => factory(asStream(guarded))), connect];
      handlers.set(connect.requestPath, negotiate(all, spec.kind === "unary", options));
    }
  }
  return handlers;
}

/** The fault of a caller that went away before its call began. */
function goneFault(): ToolPortError {
  return new ToolPortError("CANCELLED", "the caller has gone");
}

/** Holds unary answers to the deadline and to the message limit. */
function guard(spec: MethodImplSpec, { maxMessageBytes, log }: HandlerOptions): MethodImplSpec {
  if (spec.kind !== "unary") return spec;
  const { impl, method } = spec;
  return {
    ...spec,
    async impl(request: MessageShape<DescMessage>, context: HandlerContext) {
      try {
        const { deadline } = scopeOf(context);
        const work = Promise.resolve(impl(request, context));
        const made = await (deadline ? deadline.race(work) : work);
        const answer = create(method.output, made);
        requireFits(method.output, answer, maxMessageBytes);
        return answer;
      } catch (thrown) {
        throw withDetails(thrown, maxMessageBytes, log);
      }
    },
  };
}

function requireFits(
  schema: DescMessage,
  answer: MessageShape<DescMessage>,
  maxMessageBytes: number,
): void {
  const { byteLength } = toBinary(schema, answer);
  if (byteLength <= maxMessageBytes) return;
  throw new ToolPortError(
    "MESSAGE_TOO_LARGE",
    `the answer has ${byteLength} bytes, more than the message limit of ${maxMessageBytes}`,
  );
}

/**
 * Over gRPC and gRPC-Web a unary RPC looks on the wire like a stream of one. Served as such, its
 * message is parsed within what interceptors see, so that a fault there has its details too.
 */
function asStream(spec: MethodImplSpec): MethodImplSpec {
  if (spec.kind !== "unary") return spec;
  const { impl } = spec;
  return {
    kind: "server_streaming",
    method: spec.method as unknown as DescMethod & { methodKind: "server_streaming" },
    async *impl(request, context) {
      yield await impl(request, context);
    },
  };
}

/** Chooses among handlers of one RPC as the framework does, whose own chooser it doesn't export. */
function negotiate(
  handlers: readonly UniversalHandler[],
  isUnary: boolean,
  { maxMessageBytes, log }: HandlerOptions,
): UniversalHandler {
  const last = handlers.at(-1) as UniversalHandler;
  const handle: UniversalHandler = Object.assign(
    async (request: Parameters<UniversalHandler>[0]) => {
      if (last.method.methodKind === "bidi_streaming" && request.httpVersion.startsWith("1.")) {
        return { status: 505, header: new Headers({ connection: "close" }) };
      }
      const allowed = handlers.filter(({ allowedMethods }) =>
        allowedMethods.includes(request.method),
      );
      if (allowed.length === 0) return { status: 405 };
      const type = request.header.get("content-type") ?? "";
      const handler =
        allowed.length === 1 && type === ""
          ? allowed[0]
          : allowed.find(({ supportedContentType }) => supportedContentType(type));
      if (!handler) return { status: 415 };
      const response = await handler(request);
      return handler === last && isUnary
        ? repairUnaryResponse(response, maxMessageBytes, log)
        : response;
    },
    {
      protocolNames: handlers.flatMap(({ protocolNames }) => protocolNames),
      allowedMethods: last.allowedMethods,
      supportedContentType: last.supportedContentType,
      requestPath: last.requestPath,
      service: last.service,
      method: last.method,
    },
  );
  return handle;
}
