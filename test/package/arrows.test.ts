import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test from "ava";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A file, and what it may not import. */
const forbidden = [
  ["src/domain/tool.ts", "../registry/build-registry.ts"],
  ["src/domain/tool.ts", "node:fs"],
  ["src/internal/log.ts", "../server/listen.ts"],
  ["src/registry/build-registry.ts", "../selection/selector.ts"],
  ["src/registry/build-registry.ts", "../../gen/ts/toolport/v1/tool_pb.ts"],
  ["src/registry/deep/inside.ts", "../../cli/main.ts"],
  ["src/registry/build-registry.ts", "../index.ts"],
  ["src/registry/build-registry.ts", "node:child_process"],
  ["src/selection/selector.ts", "../journal/journal.ts"],
  ["src/selection/selector.ts", "@bufbuild/protobuf"],
  ["src/journal/memory.ts", "../execution/executor.ts"],
  ["src/execution/executor.ts", "../journal/sqlite.ts"],
  ["src/execution/executor.ts", "../wire/call.ts"],
  ["src/execution/executor.ts", "node:fs/promises"],
  ["src/execution/executor.ts", "@connectrpc/connect"],
  ["src/telemetry/spans.ts", "../server/listen.ts"],
  ["src/wire/call.ts", "../server/listen.ts"],
  ["src/config/settings.ts", "../server/listen.ts"],
  ["src/client/connect.ts", "../server/listen.ts"],
  ["src/client/connect.ts", "../../gen/ts/toolport/v1/tool_pb.ts"],
  ["src/server/listen.ts", "../mcp/server.ts"],
  ["src/server/listen.ts", "../cli/main.ts"],
  ["src/mcp/server.ts", "../server/listen.ts"],
  ["src/inspector/page.ts", "../mcp/server.ts"],
  ["src/cli/main.ts", "../../gen/ts/toolport/v1/tool_pb.ts"],
  ["src/port.ts", "../gen/ts/toolport/v1/tool_pb.ts"],
] as const;

const allowed = [
  ["src/registry/build-registry.ts", "../domain/tool.ts"],
  ["src/registry/build-registry.ts", "./define-tool.ts"],
  ["src/execution/executor.ts", "../journal/journal.ts"],
  ["src/execution/executor.ts", "./port.ts"],
  ["src/wire/v1.ts", "../../gen/ts/toolport/v1/tool_pb.ts"],
  ["src/client/connect.ts", "../wire/v1.ts"],
  ["src/client/connect.ts", "@grpc/grpc-js"],
  ["src/server/listen.ts", "../execution/port.ts"],
  ["src/server/listen.ts", "node:http2"],
  ["src/journal/sqlite.ts", "node:sqlite"],
  ["src/cli/main.ts", "../server/listen.ts"],
  ["src/port.ts", "./journal/sqlite.ts"],
] as const;

test("the linter refuses every import against the arrows, whether of a value, a type or lazily", async (t) => {
  const { complaints } = await lint(forbidden);
  for (const [index, [file, specifier]] of forbidden.entries()) {
    t.deepEqual(
      complaints.get(index),
      ["value", "type", "lazy", "export"],
      `${file} imports ${specifier}`,
    );
  }
});

test("the linter lets every import along the arrows pass", async (t) => {
  const { complaints } = await lint(allowed);
  t.deepEqual(
    [...complaints.keys()].map((index) => allowed[index]),
    [],
  );
});

const kinds = [
  ["value", (from: string) => `import * as value from "${from}";\nvoid value;\n`],
  ["type", (from: string) => `import type * as all from "${from}";\nexport type T = typeof all;\n`],
  ["lazy", (from: string) => `void import("${from}");\n`],
  ["export", (from: string) => `export * from "${from}";\n`],
] as const;

/** Lints one small file an import and kind; says which of them broke the arrows. */
async function lint(
  imports: readonly (readonly [string, string])[],
): Promise<{ complaints: Map<number, string[]> }> {
  const directory = await mkdtemp(join(tmpdir(), "toolport-arrows-"));
  try {
    await symlink(join(root, "node_modules"), join(directory, "node_modules"));
    await copyFile(join(root, "oxlint.config.ts"), join(directory, "oxlint.config.ts"));
    for (const [index, [file, specifier]] of imports.entries()) {
      for (const [kind, source] of kinds) {
        const path = join(directory, dirname(file), `case-${index}-${kind}.ts`);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, source(specifier));
      }
    }
    return { complaints: broken(await oxlint(directory)) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function oxlint(cwd: string): Promise<Report> {
  const command = join(root, "node_modules", ".bin", "oxlint");
  const run = promisify(execFile)(command, ["--format=json", "src"], { cwd, maxBuffer: 16 << 20 });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return JSON.parse(stdout) as Report;
}

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
}

function broken({ diagnostics }: Report): Map<number, string[]> {
  const complaints = new Map<number, string[]>();
  for (const { code, filename } of diagnostics) {
    const [, index, kind] = /case-(\d+)-(\w+)\.ts$/u.exec(filename) ?? [];
    if (!code.includes("no-restricted-imports") || index === undefined) continue;
    const seen = complaints.get(Number(index)) ?? [];
    if (kind !== undefined && !seen.includes(kind)) seen.push(kind);
    complaints.set(Number(index), seen.toSorted(byKind));
  }
  return complaints;
}

function byKind(one: string, other: string): number {
  const order = kinds.map(([kind]) => kind as string);
  return order.indexOf(one) - order.indexOf(other);
}
