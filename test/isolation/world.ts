import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ExecutionContext } from "ava";

import type { BuiltRegistry } from "../../src/index.ts";
import { createExecutor, type RunExecutor } from "../../src/execution/executor.ts";
import type { LogLevel } from "../../src/internal/log.ts";
import {
  createIsolation,
  type Isolation,
  type IsolationOptions,
} from "../../src/isolation/isolation.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import definition from "./tools/tools.ts";

/** The tools file of these tests. */
export const toolsFile: string = join(import.meta.dirname, "tools", "tools.ts");

/** The set that it defines. */
export const registry: BuiltRegistry = buildRegistry({ tools: definition.tools });

/** One line of the log. */
export interface Line {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** An executor whose isolated tools run in threads. */
export interface World {
  readonly executor: RunExecutor;
  readonly isolation: Isolation;
  readonly lines: Line[];
}

/** Makes one, which ends with its test. */
export function world(
  t: ExecutionContext,
  options: Partial<IsolationOptions> = {},
  set: BuiltRegistry = registry,
): World {
  const made = lastingWorld(options, set);
  t.teardown(async () => made.isolation.close());
  return made;
}

/** Makes one for several tests, which end it themselves. */
export function lastingWorld(
  options: Partial<IsolationOptions> = {},
  set: BuiltRegistry = registry,
): World {
  const lines: Line[] = [];
  const isolation = createIsolation({
    toolsFile,
    digest: set.digest,
    maxWorkers: 2,
    graceMs: 50,
    log: (level, event, fields = {}) => lines.push({ level, event, fields }),
    ...options,
  });
  const executor = createExecutor({
    registry: set,
    isolate: isolation.run,
    release: isolation.close,
  });
  return { executor, isolation, lines };
}

/** Writes a tools file that ends with its test; `toolport` in it is this package. */
export function writeToolsFile(t: ExecutionContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "toolport-isolation-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "tools.mjs");
  const entry = new URL("../../src/index.ts", import.meta.url).href;
  writeFileSync(path, text.replaceAll('"toolport"', JSON.stringify(entry)));
  return path;
}

/** Waits until something holds, as long as a busy machine may take to load a tools file. */
export async function until(holds: () => boolean): Promise<void> {
  for (const from = performance.now(); !holds();) {
    if (performance.now() - from > 60_000) throw new Error(`it never held: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
