import { loadToolsFile } from "../config/tools-file.ts";
import { openToolPort } from "../port.ts";
import type { Console } from "./console.ts";
import { exitCodes } from "./failure.ts";
import { paint } from "./terminal.ts";

/** Builds the set of a tools file and says what it holds. */
export async function runCheck(file: string, io: Console): Promise<number> {
  const port = await openToolPort(await loadToolsFile(file), { toolsFile: file });
  // Mounted servers have said what they offer.
  await port.executor.drain(0);
  const { warnings } = port;
  const { tools, digest } = port.registry;
  const names = tools.map(({ descriptor }) => descriptor.name);
  if (io.form === "json") {
    io.printJson({ ok: true, file, tools: names, digest, warnings });
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
