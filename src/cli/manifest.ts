import type { JsonObject, JsonValue } from "../domain/json.ts";
import type { ToolPortClient } from "../client/index.ts";
import { parseJson } from "../internal/json-text.ts";
import type { ManifestResponse, ToolDescriptor } from "../wire/v1.ts";
import type { Console } from "./console.ts";
import { descriptorJson, serverJson } from "./descriptor-json.ts";
import { exitCodes } from "./failure.ts";
import { typesOf } from "./schema-types.ts";
import { manifestCommand, type TargetFlags } from "./target.ts";
import { paint, table } from "./terminal.ts";

/** What `toolport manifest` is given. */
export interface ManifestFlags {
  /** Print the text for a prompt. */
  readonly text?: boolean;
  readonly all?: boolean;
  readonly query?: string;
  readonly budgetTokens?: number;
}

/** Lists the tools; with names, shows those in full. */
export async function runManifest(
  client: ToolPortClient,
  io: Console,
  names: readonly string[],
  flags: ManifestFlags & TargetFlags,
): Promise<number> {
  const response = await client.manifest({
    includeHidden: flags.all === true || names.length > 0,
    ...(names.length > 0 ? { names: { names: [...names] } } : {}),
    ...(flags.budgetTokens === undefined ? {} : { budgetTokens: flags.budgetTokens }),
    query: flags.query ?? "",
  });
  const known = new Set(response.tools.map((tool) => tool.name));
  const missing = names.filter((name) => !known.has(name));
  if (flags.text) io.print(`${response.text.replace(/\n$/u, "")}\n`);
  else if (io.form === "json") io.printJson(manifestJson(response));
  else if (names.length > 0) io.print(response.tools.map((tool) => detail(io, tool)).join("\n"));
  else io.print(overview(io, response, flags.query ?? ""));
  if (missing.length === 0) return exitCodes.ok;
  io.note(
    `no tool is named ${missing.map((name) => JSON.stringify(name)).join(", ")}: \`${manifestCommand("--all", flags)}\` lists them`,
  );
  return exitCodes.failed;
}

function manifestJson(response: ManifestResponse): unknown {
  return {
    digest: response.digest,
    tools: response.tools.map(descriptorJson),
    text: response.text,
    server: serverJson(response.server),
  };
}

function overview(io: Console, response: ManifestResponse, query: string): string {
  const wanted = query.toLowerCase();
  const tools = response.tools.filter((tool) =>
    `${tool.name}\n${tool.description}`.toLowerCase().includes(wanted),
  );
  const rows = tools.map((tool) => [tool.name, marks(tool).join(" "), tool.summary]);
  const count = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
  const foot = paint(io.out, "dim", `${count}, ${response.digest}`);
  if (rows.length === 0) return `${foot}\n`;
  return `${table(io.out, ["TOOL", "MARKS", "WHAT IT DOES"], rows)}\n${foot}\n`;
}

function marks(tool: ToolDescriptor): string[] {
  return [
    ...(tool.capability === "" ? [] : [`from:${tool.capability}`]),
    ...(tool.hidden ? ["hidden"] : []),
    ...(tool.readOnly === true ? ["read-only"] : []),
    ...(tool.destructive === true ? ["destructive"] : []),
    ...(tool.idempotent ? ["idempotent"] : []),
    ...(tool.runAware ? ["run-aware"] : []),
  ];
}

function detail(io: Console, tool: ToolDescriptor): string {
  const head = `${paint(io.out, "bold", tool.name)}  ${paint(io.out, "dim", marks(tool).join(" "))}`;
  const rows = parameterRows(parseJson(tool.inputSchemaJson) as JsonObject);
  const parameters =
    rows.length === 0 ? "no arguments\n" : table(io.out, ["ARGUMENT", "TYPE", "MEANING"], rows);
  return `${head.trimEnd()}\n\n${tool.description.trim()}\n\n${parameters}`;
}

function parameterRows(schema: JsonObject): string[][] {
  const properties = (schema["properties"] ?? {}) as JsonObject;
  const required = new Set((schema["required"] ?? []) as readonly JsonValue[]);
  return Object.entries(properties).map(([name, value]) => {
    const node = (typeof value === "object" && value !== null ? value : {}) as JsonObject;
    return [required.has(name) ? name : `[${name}]`, typeText(node, schema), meaning(node)];
  });
}

function typeText(node: JsonObject, root: JsonObject): string {
  if (Array.isArray(node["enum"])) return node["enum"].map((one) => JSON.stringify(one)).join("\n");
  const types = [...typesOf(node, root)];
  return types.length === 0 ? "any" : types.join(" or ");
}

function meaning(node: JsonObject): string {
  const parts = [typeof node["description"] === "string" ? node["description"] : ""];
  if (node["default"] !== undefined) parts.push(`(default ${JSON.stringify(node["default"])})`);
  return parts.filter(Boolean).join(" ");
}
