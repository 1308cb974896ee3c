import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { node, root } from "./run.js";

/**
 * Whether node_modules holds what the lockfile says. npm writes down what it installed, so a
 * plain `npm install` counts as well as `npm ci` does.
 */
export function nodeModulesInStep() {
  if (!existsSync(node)) return false;
  const wanted = packages(join(root, "package-lock.json"));
  const installed = packages(join(root, "node_modules", ".package-lock.json"));
  if (!installed) return false;
  const names = new Set([...Object.keys(wanted), ...Object.keys(installed)]);
  names.delete("");
  return [...names].every((name) => {
    const want = wanted[name];
    const have = installed[name];
    if (!want) return false;
    // Packages for other platforms are in the lockfile only.
    if (!have) return Boolean(want.optional || want.devOptional);
    return want.version === have.version && want.integrity === have.integrity;
  });
}

function packages(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).packages : undefined;
}
