// Puts the .proto files that the contract imports, and those of the services
// served beside it, into .build/proto-deps, each from the package that
// publishes it. buf.yaml names that folder, so every use of buf needs it.
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { python, root, run } from "./lib/run.js";

const protovalidate = "github.com/bufbuild/protovalidate@v1.2.2";

/** Gathers them. */
export function gatherProtoDeps() {
  const { Dir: goModule } = JSON.parse(
    run("go", ["mod", "download", "-json", protovalidate], { quiet: true, cwd: tmpdir() }),
  );
  const findGoogleRpc = "import google.rpc.status_pb2 as m, os; print(os.path.dirname(m.__file__))";
  const googleRpc = run(python, ["-c", findGoogleRpc], { quiet: true }).trim();
  const reflection = join(root, "node_modules/@grpc/reflection/build/proto/grpc/reflection");
  const health = join(root, "node_modules/grpc-health-check/proto/health");
  const sources = {
    "buf/validate/validate.proto": join(
      goModule,
      "proto/protovalidate/buf/validate/validate.proto",
    ),
    "google/rpc/status.proto": join(googleRpc, "status.proto"),
    "google/rpc/error_details.proto": join(googleRpc, "error_details.proto"),
    "grpc/health/v1/health.proto": join(health, "v1/health.proto"),
    "grpc/reflection/v1/reflection.proto": join(reflection, "v1/reflection.proto"),
    "grpc/reflection/v1alpha/reflection.proto": join(reflection, "v1alpha/reflection.proto"),
  };
  const target = join(root, ".build", "proto-deps");
  rmSync(target, { recursive: true, force: true });
  for (const [path, source] of Object.entries(sources)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(source, join(target, path));
  }
}
