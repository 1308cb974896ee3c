// Runs on the machine's own Node (20 or later), before anything is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root directory. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const venvBin = process.platform === "win32" ? "Scripts" : "bin";

/** The project's own Python, in its virtual environment. */
export const python = join(root, ".venv", venvBin, "python");

/** The environment in which the project's own tools come first. */
export const env = {
  ...process.env,
  PATH: [
    join(root, "node_modules", ".bin"),
    join(root, ".build", "bin"),
    join(root, ".venv", venvBin),
    process.env.PATH,
  ].join(delimiter),
};

/** Runs a command to its end and throws, naming it, unless it exits with 0. */
export function run(command, args, options = {}) {
  const { quiet = false, ...rest } = options;
  const result = spawnSync(command, args, {
    cwd: root,
    env,
    stdio: quiet ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
    encoding: "utf8",
    maxBuffer: 64 << 20,
    ...rest,
  });
  if (result.error) {
    throw new Error(`cannot run ${command}: ${result.error.message}`, { cause: result.error });
  }
  if (result.status !== 0) {
    const said = quiet ? `\n${result.stdout ?? ""}${result.stderr ?? ""}` : "";
    throw new Error(
      `${command} ${args.join(" ")} ended with ${result.status ?? result.signal}${said}`,
    );
  }
  return result.stdout ?? "";
}

/** Runs `make` unless it already ran with the same inputs and its product is still there. */
export function once(name, inputs, product, make) {
  const stampFile = join(root, ".build", "stamps", name);
  const stamp = digest(inputs);
  if (existsSync(product) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) {
    return;
  }
  const from = Date.now();
  make();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, stamp);
  console.error(`${name}: ready after ${((Date.now() - from) / 1000).toFixed(1)} s`);
}

function digest(paths) {
  const hash = createHash("sha256").update(process.version).update(root);
  for (const path of paths.flatMap((each) => files(join(root, each)))) {
    hash.update(relative(root, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function files(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => name !== "__pycache__" && !name.endsWith(".egg-info"))
    .sort()
    .flatMap((name) => files(join(path, name)));
}
