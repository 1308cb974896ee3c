// grpc-js as it comes, with the same messages as connect-node.ts.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import {
  type RefuseRequest,
  type RefuseResponse,
  RefuseResponseSchema,
  type RunRequest,
  type RunResponse,
  RunResponseSchema,
  ToolPortService,
  type ToolRequest,
} from "../../../src/wire/v1.ts";
import { answerTo } from "./answer.ts";
import { respond } from "./respond.ts";

function definition<Request, Response>(
  method: typeof ToolPortService.method.refuse | typeof ToolPortService.method.run,
): grpc.MethodDefinition<Request, Response> {
  const streams = method.methodKind === "bidi_streaming";
  return {
    path: `/${ToolPortService.typeName}/${method.name}`,
    requestStream: streams,
    responseStream: streams,
    requestSerialize: (message) => Buffer.from(toBinary(method.input, message as never)),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes) as Request,
    responseSerialize: (message) => Buffer.from(toBinary(method.output, message as never)),
    responseDeserialize: (bytes) => fromBinary(method.output, bytes) as Response,
  };
}

const refuse: grpc.handleUnaryCall<RefuseRequest, RefuseResponse> = (call, answer) => {
  const { request } = call.request;
  answer(null, create(RefuseResponseSchema, { call: answerTo(request as ToolRequest) }));
};

const run: grpc.handleBidiStreamingCall<RunRequest, RunResponse> = (stream) => {
  stream.on("data", (request: RunRequest) => {
    stream.write(create(RunResponseSchema, respond(request)));
  });
  stream.on("end", () => stream.end());
};

const server = new grpc.Server();
server.addService(
  {
    refuse: definition<RefuseRequest, RefuseResponse>(ToolPortService.method.refuse),
    run: definition<RunRequest, RunResponse>(ToolPortService.method.run),
  },
  { refuse, run },
);
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(JSON.stringify({ address: `127.0.0.1:${port}` }));
});
