import { loadTools } from "../config/tools-file.ts";
import type { FunctionsReport } from "../functions/describe-functions.ts";
import { openToolPort } from "../port.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { paint } from "./terminal.ts";

/** Builds the set of a tools file and says what it holds. */
export async function runCheck(file: string, io: Console): Promise<number> {
  const { definition, functions } = await loadTools(file);
  const port = await openToolPort(definition, { toolsFile: file });
  // Mounted servers have said what they offer.
  await port.executor.drain(0);
  const { warnings } = port;
  const { tools, digest } = port.registry;
  const names = tools.map(({ descriptor }) => descriptor.name);
  if (io.form === "json") {
    const schemas = schemaStateOf(functions);
    io.printJson({ ok: true, file, tools: names, digest, warnings, schemas });
    return exitCodes.ok;
  }
  for (const warning of warnings) io.note(`${paint(io.err, "yellow", "warning")}: ${warning}`);
  const hidden = tools.filter(({ descriptor }) => descriptor.hidden).length;
  const count = `${names.length} ${names.length === 1 ? "tool" : "tools"}`;
  io.print(
    `${paint(io.out, "green", "sound")}: ${file} offers ${count}${hidden > 0 ? `, ${hidden} of them hidden` : ""}\n` +
      `${names.map((name) => `  ${name}\n`).join("")}${paint(io.out, "dim", digest)}\n`,
  );
  return exitCodes.ok;
}

/** How the schema file of its plain functions is; null where it offers none. */
function schemaStateOf({ from, stale }: FunctionsReport): "fresh" | "stale" | "none" | null {
  if (from === "nowhere") return null;
  if (from === "schema-file") return "fresh";
  return stale === undefined ? "none" : "stale";
}
