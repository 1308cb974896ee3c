// Checks of the TypeScript code.
import { build } from "../build.js";
import { quietly } from "./quietly.js";

export const code = {
  types: () => quietly("tsc", ["-p", "tsconfig.json"]),
  lint: () => quietly("oxlint", ["--deny-warnings", "--report-unused-disable-directives"]),
  format: () => quietly("oxfmt", ["--check"]),
  "unused code": () => quietly("knip", ["--no-progress", "--no-config-hints"]),
  build,
  "types of the examples": () => quietly("tsc", ["-p", "examples/tsconfig.json"]),
};
