// Starts the sidecar on examples/tools.ts and has two small agent kernels drive
// it to their ends, the Python one and then the Go one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { env, main, node, python, root } from "./lib/run.js";

const drainGraceMs = 10_000;
const kernels = [
  { name: "the Python kernel", command: python, args: ["examples/kernel.py"], cwd: root },
  { name: "the Go kernel", command: "go", args: ["run", "."], cwd: join(root, "examples") },
];

await main(async () => {
  const directory = mkdtempSync(join(tmpdir(), "toolport-"));
  try {
    const sidecar = startSidecar(`unix:${join(directory, "port.sock")}`);
    try {
      const { address, digest, pid } = await sidecar.ready;
      heading(`the sidecar, process ${pid}, serves examples/tools.ts at ${address}`);
      console.log(digest);
      for (const kernel of kernels) {
        heading(kernel.name);
        await drive(kernel, address);
      }
    } finally {
      await sidecar.stop();
    }
    heading("both kernels came to their ends, and so did the sidecar");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

function startSidecar(address) {
  const child = spawn(
    node,
    ["dist/src/cli/main.js", "serve", "examples/tools.ts", "--address", address],
    { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit").then(([code, signal]) => code ?? signal);
  const ready = Promise.race([
    firstJsonLine(child.stdout),
    exited.then((how) => {
      throw new Error(`the sidecar ended with ${how} before it was ready`);
    }),
  ]);
  return { ready, stop };

  async function stop() {
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), drainGraceMs);
    const how = await exited;
    clearTimeout(kill);
    if (how !== 0) throw new Error(`the sidecar ended with ${how} instead of 0`);
  }
}

async function firstJsonLine(stream) {
  for await (const line of createInterface({ input: stream })) {
    if (line.startsWith('{"toolport":')) return JSON.parse(line);
  }
  return await new Promise(() => {}); // Its exit says why.
}

async function drive({ name, command, args, cwd }, address) {
  const child = spawn(command, [...args, "--address", address], { cwd, env, stdio: "inherit" });
  const [code, signal] = await once(child, "exit");
  if (code !== 0) throw new Error(`${name} ended with ${code ?? signal}`);
}

function heading(text) {
  console.log(`\n── ${text} ${"─".repeat(Math.max(2, 90 - text.length))}\n`);
}
