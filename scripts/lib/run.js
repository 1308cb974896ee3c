// Runs on the machine's own Node (20 or later), before anything is installed.
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root directory. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const bin = process.platform === "win32" ? "Scripts" : "bin";
const packaged = join(root, "node_modules", ".bin");
const inherited = (process.env.PATH ?? "").split(delimiter);

/** The project's own Node, the current one, whatever the machine's is. */
export const node = join(packaged, "node");

/** The project's own Python, in its virtual environment. */
export const python = join(root, ".venv", bin, "python");

/** Where tools that `go install` builds are kept. */
export const goBin = join(root, ".build", "bin");

/** The environment in which the project's own tools come first. */
export const env = {
  ...process.env,
  PATH: [packaged, goBin, join(root, ".venv", bin), ...inherited].join(delimiter),
};

/** The environment without the project's own Node, for what replaces node_modules itself. */
export const bareEnv = {
  ...process.env,
  PATH: inherited.filter((each) => each !== packaged).join(delimiter),
};

/**
 * Runs a command to its end.
 *
 * @param options those of spawnSync, and `quiet`: its output is returned instead of shown
 * @returns its standard output where it is quiet, else an empty string
 * @throws an Error that names the command, unless it exits with 0
 */
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
    const said = quiet ? `\n${result.stdout ?? ""}${result.stderr ?? ""}`.trimEnd() : "";
    throw new Error(
      `${command} ${args.join(" ")} ended with ${result.status ?? result.signal}${said}`,
    );
  }
  return result.stdout ?? "";
}

/** Runs a script's body; what it throws is told as a sentence, without a stack. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
