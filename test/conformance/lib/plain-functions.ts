import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadTools } from "../../../src/config/tools-file.ts";
import { type ParamSpec, toolFromCase, type ToolSpec } from "./tool-from-case.ts";

/**
 * Makes what a case describes, as {@link toolFromCase} does, its plain functions within a module of
 * their own: their types are read from its source.
 */
export async function toolsFromCase(specs: readonly ToolSpec[]): Promise<readonly unknown[]> {
  const functions = await plainFunctions(specs.filter(({ form }) => form === "callable"));
  return specs.map((spec) => (spec.form === "callable" ? functions.shift() : toolFromCase(spec)));
}

async function plainFunctions(specs: readonly ToolSpec[]): Promise<unknown[]> {
  if (specs.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), "toolport-case-"));
  try {
    const file = join(folder, "tools.ts");
    const entry = new URL("../../../src/define-tools.ts", import.meta.url).href;
    const names = specs.map(({ name }) => name ?? "").join(", ");
    writeFileSync(
      file,
      [
        `import { defineTools } from ${JSON.stringify(entry)};`,
        ...specs.map(functionText),
        `export default defineTools({ tools: [${names}] });`,
        "",
      ].join("\n"),
    );
    return [...(await loadTools(file)).definition.tools];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function functionText({ name = "", description, params = [] }: ToolSpec): string {
  const doc = [description ?? `${name} documentation.`, ...params.map(tagText)].join("\n * ");
  return `/** ${doc} */\nexport function ${name}(${params.map(paramText).join(", ")}) { return "ok"; }`;
}

function tagText({ name, type }: ParamSpec): string {
  return `@param ${name}${type === "integer" ? " @integer" : ""}`;
}

function paramText({ name, type, default: value }: ParamSpec): string {
  const typeText = { string: "string", integer: "number", any: "unknown" }[type];
  return `${name}: ${typeText}${value === undefined ? "" : ` = ${JSON.stringify(value)}`}`;
}
