#!/usr/bin/env node
// Loads nothing but Node's own at first: an older Node must get as far as the sentence below.
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 24 || (major === 24 && minor < 12) || major === 25) {
  process.stderr.write(
    `toolport: this is Node ${process.versions.node}, but toolport needs 24.12 or later (or 26): run ${fileURLToPath(import.meta.url)} with a newer one\n`,
  );
  process.exitCode = 2;
} else {
  const { main } = await import("./program.ts");
  await main(process.argv.slice(2));
}
