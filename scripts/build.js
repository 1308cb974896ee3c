// Compiles src/ and the generated code to dist/. The new dist/ takes the old
// one's place at once, so that a sidecar that starts meanwhile finds a whole one.
import { chmodSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { main, root, run } from "./lib/run.js";

const command = join("src", "cli", "main.js");

/** Builds dist/. */
export function build() {
  const target = join(root, "dist");
  const fresh = join(root, `dist.${process.pid}`);
  const old = join(root, `dist.${process.pid}.old`);
  try {
    run("tsc", ["-p", "tsconfig.build.json", "--outDir", fresh]);
    if (!readFileSync(join(fresh, command), "utf8").startsWith("#!")) {
      throw new Error(`${command} must begin with #!/usr/bin/env node, or it cannot be run`);
    }
    chmodSync(join(fresh, command), 0o755);
    if (existsSync(target)) renameSync(target, old);
    renameSync(fresh, target);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(build);
