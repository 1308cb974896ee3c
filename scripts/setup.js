// Sets up what a command needs, each step once for its inputs:
//
//     node scripts/setup.js node build python go codegen interop bench
//
// It runs on the machine's own Node (20 or later), before anything is
// installed; a step that has nothing to do takes milliseconds.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.js";
import { findPython, requireGo } from "./lib/machine.js";
import { nodeModulesInStep } from "./lib/node-modules.js";
import { once, timed } from "./lib/once.js";
import { bareEnv, env, goBin, main, python, root, run } from "./lib/run.js";

const goTools = {
  codegen: [
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
  ],
  interop: [
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4",
    "github.com/grpc-ecosystem/grpc-health-probe@v0.4.63",
  ],
};

const benchBin = join(root, ".build", "bench");

const steps = {
  node() {
    if (!nodeModulesInStep()) {
      timed("npm packages", () =>
        run("npm", ["ci", "--no-fund", "--no-audit", "--loglevel=error"], { env: bareEnv }),
      );
    }
  },
  build() {
    const inputs = ["src", "gen/ts", "tsconfig.json", "tsconfig.build.json", "package-lock.json"];
    once("build", inputs, join(root, "dist", "src", "index.js"), build);
  },
  python() {
    once("python", ["clients/python/pyproject.toml"], python, () => {
      run(findPython(), ["-m", "venv", ".venv"]);
      pip("--editable", "clients/python[test]");
    });
  },
  go() {
    requireGo();
    const modules = ["clients/go", "examples", "bench/load-client"].filter((path) =>
      existsSync(join(root, path, "go.mod")),
    );
    const inputs = modules.flatMap((path) => [`${path}/go.mod`, `${path}/go.sum`]);
    once("go", inputs, join(root, "clients", "go", "go.mod"), () => {
      for (const path of modules) run("go", ["mod", "download"], { cwd: join(root, path) });
    });
  },
  bench() {
    steps.go();
    const inputs = ["bench/load-client", "clients/go/gen", "clients/go/go.mod"];
    once("bench", inputs, join(benchBin, "grpc-go-server"), () => {
      mkdirSync(benchBin, { recursive: true });
      const cwd = join(root, "bench", "load-client");
      run("go", ["build", "-o", join(benchBin, "load-client"), "."], { cwd });
      run("go", ["build", "-o", join(benchBin, "grpc-go-server"), "./grpc-go-server"], { cwd });
    });
  },
  codegen() {
    steps.python();
    once("codegen", ["scripts/setup.js"], join(goBin, "protoc-gen-go-grpc"), () => {
      pip("grpcio-tools==1.85.1", "googleapis-common-protos", "ruff==0.17.6");
      goInstall(goTools.codegen);
    });
  },
  interop() {
    try {
      once("interop", ["scripts/setup.js"], join(goBin, "grpc-health-probe"), () => {
        goInstall(goTools.interop);
      });
    } catch (error) {
      if (process.env.CI) throw error;
      console.error(
        `grpcurl and grpc-health-probe could not be built, so their tests are skipped: ${error.message}`,
      );
    }
  },
};

function pip(...what) {
  run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...what]);
}

function goInstall(packages) {
  requireGo();
  mkdirSync(goBin, { recursive: true });
  for (const each of packages) run("go", ["install", each], { env: { ...env, GOBIN: goBin } });
}

await main(() => {
  for (const name of process.argv.slice(2)) {
    if (!Object.hasOwn(steps, name)) {
      throw new Error(`no step is named ${name}; there are ${Object.keys(steps).join(", ")}`);
    }
    steps[name]();
  }
});
