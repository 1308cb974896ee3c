import { join, resolve } from "node:path";

import { readServeConfig, type ServeConfig } from "../config/serve-config.ts";
import { readOrMakeTokenFile } from "../config/token.ts";
import { loadToolsFile } from "../config/tools-file.ts";
import type { ToolsDefinition } from "../define-tools.ts";
import type { Log } from "../internal/log.ts";
import { openToolPort, type ToolPort } from "../port.ts";
import { serve } from "../serve-port.ts";
import type { ProcessGuard } from "../server/process-guard.ts";
import type { ToolPortServer } from "../server/serve.ts";
import { exitCodes } from "./failure.ts";
import { openJournal } from "./open-journal.ts";
import { watchParent } from "./parent-watch.ts";
import { makePrivateFolder } from "./private-folder.ts";
import { createScreenLog } from "./screen-log.ts";
import type { Signals } from "./signals.ts";
import type { Screen } from "./terminal.ts";

/** The process that a command runs in. */
export interface CommandProcess {
  readonly out: Screen;
  readonly err: Screen;
  readonly guard: ProcessGuard;
  readonly signals: Signals;
}

/** Serves the tools of a file until a signal or the parent's end; prints the ready line. */
export async function runServe(
  file: string,
  flags: Readonly<Record<string, unknown>>,
  own: CommandProcess,
): Promise<number> {
  const { out, err } = own;
  // A mistake in the flags is told before a tools file that takes its time is loaded.
  const { logLevel, exitWithParent } = readServeConfig(flags, process.env);
  const log = createScreenLog(err, logLevel);
  let isListening = false;
  const end = awaitEnd(exitWithParent, own, log, () => isListening);
  const definition = await loadToolsFile(file);
  const config = readServeConfig(flags, process.env, definition.limits);
  const journal = await openJournal(config, log);
  const port = await openToolPort(definition, {
    limits: config.limits,
    journal,
    resultsFolder:
      config.journal.kind === "file" ? `${resolve(config.journal.path)}.results` : undefined,
    log,
    toolsFile: file,
  });
  for (const warning of port.warnings) log("warn", "tool_warning", { warning });
  const place = await listen(port, config);
  isListening = true;
  const { address } = place.server;
  const { digest, tools } = port.registry;
  const ready = { toolport: 1, address, digest, pid: process.pid, tokenFile: place.tokenFile };
  log("info", "listening", { address, tools: tools.length, digest });
  if (place.isOpenToAll) log("warn", "no_authentication", { address });
  out.write(`${JSON.stringify(ready)}\n`);
  const { why, graceMs } = await end;
  log("info", "draining", { why, calls: port.executor.inFlight });
  await place.server.close(graceMs ?? config.limits.drainGraceMs);
  await journal?.close();
  place.release();
  log("info", "stopped");
  return exitCodes.ok;
}

/** Serves the definition of a tools file on a private socket of this process, for one command. */
export async function servePrivately(
  definition: ToolsDefinition,
  toolsFile: string,
  err: Screen,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const log = createScreenLog(err, "warn");
  const port = await openToolPort(definition, { log, toolsFile });
  for (const warning of port.warnings) log("warn", "tool_warning", { warning });
  const folder = makePrivateFolder();
  const server = await serve(port, { address: `unix:${join(folder.path, "port.sock")}` });
  return {
    address: server.address,
    async close() {
      await server.close(0);
      folder.remove();
    },
  };
}

interface Place {
  readonly server: ToolPortServer;
  readonly tokenFile: string | undefined;
  /** Whoever reaches the port can run the tools. */
  readonly isOpenToAll: boolean;
  release(): void;
}

async function listen(port: ToolPort, config: ServeConfig): Promise<Place> {
  const isTcp = config.address !== undefined && !config.address.startsWith("unix:");
  const needsToken = isTcp && !config.insecureNoAuth && config.token === undefined;
  const needsFolder =
    config.address === undefined || (needsToken && config.tokenFile === undefined);
  const folder = needsFolder ? makePrivateFolder() : undefined;
  try {
    const inFolder = (name: string): string => join(folder?.path ?? "", name);
    const tokenFile =
      config.tokenFile === undefined
        ? needsToken
          ? inFolder("token")
          : undefined
        : resolve(config.tokenFile);
    const token = config.token ?? (tokenFile && readOrMakeTokenFile(tokenFile));
    const server = await serve(port, {
      address: config.address ?? `unix:${inFolder("port.sock")}`,
      tokens: token === undefined ? [] : [token],
      allowUnauthenticated: config.insecureNoAuth,
    });
    return {
      server,
      tokenFile: config.token === undefined ? tokenFile : undefined,
      isOpenToAll: isTcp && token === undefined,
      release: () => folder?.remove(),
    };
  } catch (error) {
    folder?.remove();
    throw error;
  }
}

interface End {
  readonly why: string;
  /** How long calls in flight may go on, in milliseconds; undefined: as configured. */
  readonly graceMs?: number;
}

/**
 * Waits for a first signal, or for the parent to go, to whom no answer can be given any more. Before
 * anything listens there is nothing to wait for: either ends the process.
 */
function awaitEnd(
  exitWithParent: boolean,
  { guard, signals }: CommandProcess,
  log: Log,
  isListening: () => boolean,
): Promise<End> {
  return new Promise((settle) => {
    let isEnding = false;
    const end = (how: End): void => {
      if (!isListening()) guard.exit(exitCodes.failed);
      isEnding = true;
      settle(how);
    };
    signals.take((signal) => {
      if (!isEnding) return end({ why: signal });
      log("warn", "killed", { why: `a second ${signal}` });
      return guard.exit(exitCodes.failed);
    });
    if (!exitWithParent) return;
    watchParent((why) => {
      end({ why, graceMs: 0 });
      // Whatever still holds on, nobody is left to see it.
      setTimeout(() => guard.exit(exitCodes.failed), 900).unref();
    });
  });
}
