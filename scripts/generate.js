// Generates everything that comes from proto/, for every language.
//
// The protovalidate annotations are for whoever reads the contract or
// validates against it; clients need no code for them, so the image that
// theirs is generated from has them taken out.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { python, root, run } from "./lib/run.js";
import "./proto-deps.js";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const annotated = join(root, "gen", "toolport.v1.binpb");
const plain = join(root, ".build", "plain.binpb");
const ours = ["--path", "toolport/v1"];

mkdirSync(join(root, "gen"), { recursive: true });
const image = ["build", ".", "--as-file-descriptor-set"];
run("buf", [...image, "--path", "proto/toolport/v1", "--exclude-source-info", "-o", annotated]);
run("buf", [...image, "-o", plain]);
withoutAnnotations(plain);

run("buf", ["generate", plain, ...ours, "--path", "google/rpc", "--path", "grpc"]);
run("buf", ["generate", plain, ...ours, "--template", "clients/go/buf.gen.yaml"]);
generatePython(join(root, "clients", "python", "src"));

function withoutAnnotations(path) {
  const annotations = "buf/validate/validate.proto";
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  set.file = set.file.filter((file) => file.name !== annotations);
  for (const file of set.file) {
    file.dependency = file.dependency.filter((name) => name !== annotations);
    file.messageType.forEach(clear);
  }
  writeFileSync(path, toBinary(FileDescriptorSetSchema, set));

  // Read without a registry, an extension is an unknown field of its options.
  function clear(message) {
    for (const field of message.field) delete field.options?.$unknown;
    for (const oneof of message.oneofDecl) delete oneof.options?.$unknown;
    delete message.options?.$unknown;
    message.nestedType.forEach(clear);
  }
}

function generatePython(out) {
  const target = join(out, "toolport", "v1");
  rmSync(target, { recursive: true, force: true });
  run(python, [
    "-m",
    "grpc_tools.protoc",
    `--descriptor_set_in=${plain}`,
    `--python_out=${out}`,
    `--pyi_out=${out}`,
    `--grpc_python_out=${out}`,
    ...readdirSync(join(root, "proto", "toolport", "v1")).map((name) => `toolport/v1/${name}`),
  ]);
  writeFileSync(
    join(target, "__init__.py"),
    '"""The messages and the service of the contract, generated from its .proto files."""\n',
  );
}
