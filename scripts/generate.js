// Generates everything that comes from proto/, for every language:
//
//     npm run generate
//
// The protovalidate annotations are for whoever reads the contract or
// validates against it; clients need no code for them, so the image that
// theirs is generated from has them taken out.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { main, python, root, run } from "./lib/run.js";
import { gatherProtoDeps } from "./proto-deps.js";

const annotations = "buf/validate/validate.proto";

/** What is generated, relative to the root. */
export const generated = [
  "gen/ts",
  "gen/toolport.v1.binpb",
  "clients/go/gen",
  "clients/python/src/toolport/v1",
];

/** Generates all of it below `target`, laid out as below the root. */
export function generate(target) {
  gatherProtoDeps();
  const annotated = join(target, "gen", "toolport.v1.binpb");
  mkdirSync(dirname(annotated), { recursive: true });
  const image = ["build", ".", "--as-file-descriptor-set"];
  run("buf", [...image, "--path", "proto/toolport/v1", "--exclude-source-info", "-o", annotated]);

  const plain = join(root, ".build", "plain.binpb");
  run("buf", [...image, "-o", plain]);
  removeAnnotations(plain);
  const ours = ["generate", plain, "--output", target, "--path", "toolport/v1"];
  run("buf", [...ours, "--path", "google/rpc", "--path", "grpc"]);
  run("buf", [...ours, "--template", "clients/go/buf.gen.yaml"]);
  generatePython(plain, join(target, "clients", "python", "src"));
}

function removeAnnotations(path) {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  set.file = set.file.filter((file) => file.name !== annotations);
  for (const file of set.file) {
    file.dependency = file.dependency.filter((name) => name !== annotations);
    file.messageType.forEach(clear);
  }
  writeFileSync(path, toBinary(FileDescriptorSetSchema, set));
}

// Read without a registry, an extension is an unknown field of its options.
function clear(message) {
  for (const field of message.field) delete field.options?.$unknown;
  for (const oneof of message.oneofDecl) delete oneof.options?.$unknown;
  delete message.options?.$unknown;
  message.nestedType.forEach(clear);
}

function generatePython(image, out) {
  const target = join(out, "toolport", "v1");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  run(python, [
    "-m",
    "grpc_tools.protoc",
    `--descriptor_set_in=${image}`,
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(() => generate(root));
