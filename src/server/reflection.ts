import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  file_google_rpc_error_details,
  ServerReflection,
  ServerReflectionAlpha,
  type ServerReflectionRequest,
} from "../wire/beside.ts";
import { type Served, served } from "./handlers.ts";

/** gRPC's own status numbers, which reflection answers with inside of its messages. */
const invalidArgument = 3;
const notFound = 5;

/** Server reflection, v1 and v1alpha, over the given services and all that they refer to. */
export function createReflection(services: readonly DescService[]): readonly Served[] {
  const listed = [...services, ServerReflection, ServerReflectionAlpha];
  const index = indexFiles([...listed.map(({ file }) => file), file_google_rpc_error_details]);
  const names = listed.map(({ typeName }) => ({ name: typeName }));

  async function* answerAll(
    requests: AsyncIterable<Pick<ServerReflectionRequest, "host" | "messageRequest">>,
  ): AsyncGenerator<Reply> {
    for await (const originalRequest of requests) {
      const { host: validHost, messageRequest } = originalRequest;
      const messageResponse = answer(index, names, messageRequest);
      yield { validHost, originalRequest: { host: validHost, messageRequest }, messageResponse };
    }
  }

  // Both versions have the same messages, in shape and in numbers.
  return [
    served(ServerReflection, { serverReflectionInfo: answerAll }),
    served(ServerReflectionAlpha, { serverReflectionInfo: answerAll as never }),
  ];
}

interface Reply {
  validHost: string;
  originalRequest: Pick<ServerReflectionRequest, "host" | "messageRequest">;
  messageResponse: Answer;
}

type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

interface Index {
  readonly byName: ReadonlyMap<string, DescFile>;
  readonly bySymbol: ReadonlyMap<string, DescFile>;
  readonly messages: ReadonlySet<string>;
}

function answer(
  { byName, bySymbol, messages }: Index,
  service: { name: string }[],
  request: ServerReflectionRequest["messageRequest"],
): Answer {
  switch (request.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service } };
    case "fileByFilename":
      return fileAnswer(byName.get(request.value), `no file ${JSON.stringify(request.value)}`);
    case "fileContainingSymbol":
      return fileAnswer(bySymbol.get(request.value), `no symbol ${JSON.stringify(request.value)}`);
    case "fileContainingExtension":
      return failure(notFound, "the served files declare no extensions");
    case "allExtensionNumbersOfType":
      return messages.has(request.value)
        ? { case: "allExtensionNumbersResponse", value: { baseTypeName: request.value } }
        : failure(notFound, `no message type ${JSON.stringify(request.value)}`);
    case undefined:
      return failure(invalidArgument, "message_request is not set");
  }
}

/** A file and all that it imports, so that the client need not ask again. */
function fileAnswer(file: DescFile | undefined, missing: string): Answer {
  if (!file) return failure(notFound, `${missing} is served`);
  const files = new Set<DescFile>();
  collect(file, files);
  const fileDescriptorProto = [...files].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function failure(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

function collect(file: DescFile, into: Set<DescFile>): void {
  if (into.has(file)) return;
  into.add(file);
  for (const dependency of file.dependencies) collect(dependency, into);
}

function indexFiles(roots: readonly DescFile[]): Index {
  const files = new Set<DescFile>();
  for (const root of roots) collect(root, files);
  const byName = new Map<string, DescFile>();
  const bySymbol = new Map<string, DescFile>();
  const messages = new Set<string>();
  for (const file of files) {
    byName.set(file.proto.name, file);
    for (const symbol of symbolsOf(file, messages)) bySymbol.set(symbol, file);
  }
  return { byName, bySymbol, messages };
}

function* symbolsOf(file: DescFile, messages: Set<string>): Generator<string> {
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
  const enums = [...file.enums];
  const open = [...file.messages];
  for (let message = open.pop(); message; message = open.pop()) {
    messages.add(message.typeName);
    yield message.typeName;
    for (const { name } of [...message.fields, ...message.oneofs]) {
      yield `${message.typeName}.${name}`;
    }
    open.push(...message.nestedMessages);
    enums.push(...message.nestedEnums);
  }
  for (const { typeName, values } of enums) {
    yield typeName;
    // The values of an enum are siblings of its type.
    const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
    for (const { name } of values) yield scope + name;
  }
}
