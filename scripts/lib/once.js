// Runs on the machine's own Node (20 or later), before anything is installed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./run.js";

const ignored = new Set(["__pycache__", "node_modules", ".pytest_cache", ".mypy_cache"]);

/**
 * Runs `make` unless it already ran with the same inputs and its product is still there.
 *
 * @param name what is made, for people
 * @param inputs files and folders, relative to the root; one that is missing counts as empty
 * @param product a file that is there once it is made
 * @param make makes it; what it throws leaves it to be made again
 */
export function once(name, inputs, product, make) {
  const stampFile = join(root, ".build", "stamps", name);
  const stamp = digest(inputs);
  const made = existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
  if (made && existsSync(product)) return;
  timed(name, make);
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** Runs `make` and tells how long it took. */
export function timed(name, make) {
  const from = Date.now();
  console.error(`${name}: setting up…`);
  make();
  console.error(`${name}: ready after ${((Date.now() - from) / 1000).toFixed(1)} s`);
}

// The root is in it because virtual environments do not survive a move.
function digest(paths) {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch} ${root}`);
  for (const path of paths.flatMap((each) => files(join(root, each)))) {
    hash.update(relative(root, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function files(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => !ignored.has(name) && !name.endsWith(".egg-info"))
    .toSorted()
    .flatMap((name) => files(join(path, name)));
}
