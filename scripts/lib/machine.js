// What the machine itself must have, and one clear sentence where it does not.
import { spawnSync } from "node:child_process";
import { env } from "./run.js";

const pythons = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];
const pythonIsNew = "import sys, venv; sys.exit(sys.version_info < (3, 11))";

/**
 * Finds a Python of 3.11 or later: the one that PYTHON names, or one on the PATH.
 *
 * @returns the command
 */
export function findPython() {
  const candidates = process.env.PYTHON ? [process.env.PYTHON] : pythons;
  const found = candidates.find((command) => succeeds(command, ["-c", pythonIsNew]));
  if (found) return found;
  throw new Error(
    `Python 3.11 or later is needed and ${candidates.join(", ")} is not one: install it, or set PYTHON to its path.`,
  );
}

/** Throws unless Go is on the PATH. */
export function requireGo() {
  if (succeeds("go", ["version"])) return;
  throw new Error(
    "Go is needed and there is no go on the PATH: install it from https://go.dev/dl.",
  );
}

function succeeds(command, args) {
  return spawnSync(command, args, { env, stdio: "ignore" }).status === 0;
}
