// Checks of the Python and the Go client.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { python, root } from "../lib/run.js";
import { quietly } from "./quietly.js";

const inPython = ["examples/kernel.py", "clients/python", "bench/compare"];
const goModules = ["clients/go", "examples", "bench/load-client"].filter((path) =>
  existsSync(join(root, path, "go.mod")),
);

export const clients = {
  "ruff check": () => quietly(python, ["-m", "ruff", "check", ...inPython]),
  "ruff format": () => quietly(python, ["-m", "ruff", "format", "--check", ...inPython]),
  mypy: () => quietly(python, ["-m", "mypy"], { cwd: join(root, "clients", "python") }),
  gofmt: async () => {
    const unformatted = await quietly("gofmt", ["-l", ...goModules]);
    if (unformatted.length > 0) {
      throw new Error(`not formatted; run gofmt -w:\n${unformatted.join("\n")}`);
    }
  },
  "go vet": async () => {
    for (const path of goModules) await quietly("go", ["vet", "./..."], { cwd: join(root, path) });
  },
};
