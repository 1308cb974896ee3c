import { execFile } from "node:child_process";
import { promisify } from "node:util";

import type { Figures } from "./figures.ts";
import { clientCore, pinned, type PinnedServer, serverCore } from "./pinned-server.ts";
import { type Cell, cellName, subjectOf } from "./cells.ts";

const run = promisify(execFile);

/** How long a cell is called before it is measured, and is measured for. */
export interface Window {
  readonly warmUpMs: number;
  readonly windowMs: number;
}

interface Measured extends Omit<Figures, "callsPerSecond"> {
  readonly calls: number;
  readonly seconds: number;
}

/**
 * Measures a cell once.
 *
 * @param server absent where the client starts it
 * @throws Error that names the cell, where the client fails: on a wrong answer, for one
 */
export async function measure(
  cell: Cell,
  server: PinnedServer | undefined,
  { warmUpMs, windowMs }: Window,
): Promise<Figures> {
  const { client, child } = subjectOf(cell);
  const [file, ...args] = pinned(clientCore, [
    ...client,
    ...(server ? ["-address", server.address, "-server-pid", String(server.pid)] : []),
    ...["-tool", cell.tool, "-in-flight", String(cell.inFlight)],
    ...["-warm-up", `${warmUpMs}ms`, "-window", `${windowMs}ms`],
    ...(child ? ["--", ...pinned(serverCore, child)] : []),
  ]);
  try {
    const { stdout } = await run(file, args, { maxBuffer: 1 << 20 });
    const { calls, seconds, p50Us, p99Us, serverCpuUs, others } = JSON.parse(stdout) as Measured;
    return { callsPerSecond: calls / seconds, p50Us, p99Us, serverCpuUs, others };
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim() ?? String(cause);
    throw new Error(`${cellName(cell)} could not be measured: ${said}`, { cause });
  }
}
