// Puts the .proto files that the contract imports, and those of the services
// served beside it, into .build/proto-deps, each from the package that
// publishes it. Only the code generator needs them.
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { python, root, run } from "./lib/run.js";

const protovalidate = "github.com/bufbuild/protovalidate@v1.2.2";
const target = join(root, ".build", "proto-deps");

const goModule = JSON.parse(
  run("go", ["mod", "download", "-json", protovalidate], { quiet: true, cwd: dirname(root) }),
).Dir;
const googleRpc = run(
  python,
  ["-c", "import google.rpc.status_pb2 as m, os; print(os.path.dirname(m.__file__))"],
  { quiet: true },
).trim();

const sources = {
  "buf/validate/validate.proto": join(goModule, "proto/protovalidate/buf/validate/validate.proto"),
  "google/rpc/status.proto": join(googleRpc, "status.proto"),
  "google/rpc/error_details.proto": join(googleRpc, "error_details.proto"),
  "grpc/health/v1/health.proto": join(
    root,
    "node_modules/grpc-health-check/proto/health/v1/health.proto",
  ),
  "grpc/reflection/v1/reflection.proto": join(
    root,
    "node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto",
  ),
  "grpc/reflection/v1alpha/reflection.proto": join(
    root,
    "node_modules/@grpc/reflection/build/proto/grpc/reflection/v1alpha/reflection.proto",
  ),
};

rmSync(target, { recursive: true, force: true });
for (const [path, source] of Object.entries(sources)) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  cpSync(source, join(target, path));
}
