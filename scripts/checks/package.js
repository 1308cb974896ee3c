// Checks of the package as a user gets it.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../lib/run.js";
import { quietly } from "./quietly.js";

let tarball;

async function pack() {
  const target = join(root, ".build", "package");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const said = await quietly("npm", [
    "pack",
    "--ignore-scripts",
    "--json",
    "--pack-destination",
    target,
  ]);
  const [{ filename }] = JSON.parse(said.join("\n"));
  tarball = join(target, filename);
}

export const packaged = {
  "npm pack": pack,
  publint: () => quietly("publint", ["run", tarball, "--strict"]),
  "types resolve": () => quietly("attw", [tarball, "--profile", "esm-only", "--no-emoji"]),
};
