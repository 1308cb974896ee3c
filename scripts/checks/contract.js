// Checks of the .proto files and of what is generated from them.
import { readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { generate, generated } from "../generate.js";
import { root } from "../lib/run.js";
import { gatherProtoDeps } from "../proto-deps.js";
import { quietly } from "./quietly.js";

export const contract = {
  "buf lint": () => buf("lint"),
  "buf format": () => buf("format", "proto", "--diff", "--exit-code"),
  "buf breaking": () => buf("breaking", "proto", "--against", "etc/toolport.v1.binpb"),
  "generated code": async () => {
    const fresh = join(root, ".build", "generated");
    rmSync(fresh, { recursive: true, force: true });
    generate(fresh);
    const differing = generated.flatMap((path) => differences(join(root, path), join(fresh, path)));
    if (differing.length > 0) {
      throw new Error(`not what proto/ generates; run npm run generate:\n${differing.join("\n")}`);
    }
  },
};

async function buf(...args) {
  gatherProtoDeps();
  await quietly("buf", args);
}

function differences(committed, fresh) {
  const names = new Set([...files(committed), ...files(fresh)]);
  return [...names]
    .filter((name) => !same(join(committed, name), join(fresh, name)))
    .map((name) => relative(root, join(committed, name)));
}

function same(one, other) {
  try {
    return readFileSync(one).equals(readFileSync(other));
  } catch {
    return false;
  }
}

function files(path) {
  if (!statSync(path).isDirectory()) return [""];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && !each.parentPath.includes("__pycache__"))
    .map((each) => relative(path, join(each.parentPath, each.name)));
}
