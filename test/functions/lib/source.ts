import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExecutionContext } from "ava";
import { loadTools } from "../../../src/config/tools-file.ts";
import type { ToolsDefinition } from "../../../src/define-tools.ts";
import type { Tool } from "../../../src/domain/tool.ts";
import type {
  DescribeOptions,
  FunctionsReport,
} from "../../../src/functions/describe-functions.ts";
import { createToolPort, type ToolPort } from "../../../src/port.ts";

const entry = join(import.meta.dirname, "../../../src/index.ts");

/** A folder with sources, which goes with its test. */
function sourceFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), "toolport-source-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a source; `toolport` in it is this package. Returns its path. */
function writeSource(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text.replaceAll('"toolport"', JSON.stringify(entry)));
  return path;
}

/**
 * The text of a tools file that offers functions: `source`, then a default export of these names,
 * unless it has one.
 */
function toolsText(source: string, names: readonly string[]): string {
  if (source.includes("export default")) return source;
  const offered = `defineTools({ tools: [${names.join(", ")}] })`;
  return `import { defineTools } from "toolport";\n${source}\nexport default ${offered};\n`;
}

/** A tools file that has been loaded. */
export interface LoadedSource {
  readonly file: string;
  readonly definition: ToolsDefinition;
  readonly functions: FunctionsReport;
  /** Builds the set. @throws ConfigurationError */
  port(): ToolPort;
  /** The tool of this name. */
  tool(name: string): Tool;
}

/** How {@link loadSource} goes about it. */
export interface LoadOptions extends DescribeOptions {
  /** Other files, by their names. */
  readonly beside?: Readonly<Record<string, string>>;
  /** What the tools file is called; `tools.ts` by default. */
  readonly file?: string;
}

/** Writes and loads a tools file that offers these functions of `source`. */
export async function loadSource(
  t: ExecutionContext,
  source: string,
  names: readonly string[],
  options: LoadOptions = {},
): Promise<LoadedSource> {
  const folder = sourceFolder(t);
  for (const [name, text] of Object.entries(options.beside ?? {})) writeSource(folder, name, text);
  const file = writeSource(folder, options.file ?? "tools.ts", toolsText(source, names));
  const { definition, functions } = await loadTools(file, options);
  let made: ToolPort | undefined;
  const port = (): ToolPort => (made ??= createToolPort(definition, { toolsFile: file }));
  return {
    file,
    definition,
    functions,
    port,
    tool(name) {
      const tool = port().registry.get(name);
      if (!tool) throw new Error(`there is no tool ${name}`);
      return tool;
    },
  };
}
