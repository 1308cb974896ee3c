import { lines } from "../lib/process.js";

/** Runs a command; what it says comes out, in the error, only where it fails. */
export async function quietly(command, args, options = {}) {
  const said = [];
  const code = await lines(command, args, { ...options, onLine: (line) => said.push(line) });
  if (code !== 0) {
    throw new Error(`${command} ${args.join(" ")} ended with ${code}\n${said.join("\n")}`);
  }
  return said;
}
