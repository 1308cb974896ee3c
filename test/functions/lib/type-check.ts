import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../../..");

/** Type-checks a text as a module of its own. Returns what the compiler says, a finding a line. */
export function typeCheck(text: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "toolport-types-"));
  try {
    const file = join(folder, "calls.ts");
    const config = join(folder, "tsconfig.json");
    writeFileSync(file, text);
    const compilerOptions = {
      target: "esnext",
      module: "nodenext",
      lib: ["esnext", "dom"],
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      strict: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      noErrorTruncation: true,
      noEmit: true,
    };
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", config, "--pretty", "false"], {
      encoding: "utf8",
    });
    return stdout.split("\n").filter((line) => line.includes("calls.ts"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
