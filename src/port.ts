import { resolveLimits, type Limits } from "./config/limits.ts";
import { version } from "./config/version.ts";
import { isToolsDefinition, type ToolsDefinition } from "./define-tools.ts";
import { ConfigurationError } from "./errors.ts";
import { createExecutor, type RunExecutor } from "./execution/executor.ts";
import type { RunPort } from "./execution/run-port.ts";
import { createRuns } from "./execution/runs.ts";
import { type Log, silent } from "./internal/log.ts";
import { isolationFor } from "./isolation/isolation.ts";
import type { Journal } from "./journal/journal.ts";
import { isMcpMount } from "./mounts/mcp.ts";
import type { MountStatus } from "./mounts/mounted-server.ts";
import { type Mounts, openMounts } from "./mounts/open-mounts.ts";
import { buildRegistry, type BuiltRegistry, type Capability } from "./registry/build-registry.ts";
import { createSelector, type Selector } from "./selection/selector.ts";
import { warnOfUnknownNames } from "./selection/unknown-names.ts";
import { createSpillFolder } from "./spill/spill-folder.ts";

/** What a tool port is made with beside its definition. */
export interface ToolPortOptions {
  /** Wins over the limits of the definition; what both leave open has its default. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Where claims and outcomes are kept, such as `memoryJournal()` or `await sqliteJournal({ path })`;
   * left out: nothing is. Whoever made it closes it, once the server has closed.
   */
  readonly journal?: Journal | undefined;
  /**
   * The file whose default export the definition is. Worker threads load it again, so a definition
   * with isolated tools needs it.
   */
  readonly toolsFile?: string | URL | undefined;
  /**
   * Where the results of tools with `largeResults: "spill"` go once they are over the message limit;
   * left out: a temporary folder, which goes with the process.
   */
  readonly resultsFolder?: string | undefined;
  /** Takes what happens; left out: nobody is told. */
  readonly log?: Log | undefined;
}

/** A frozen set of tools, ready to be served. */
export interface ToolPort {
  /** The tools and their digest. */
  readonly registry: BuiltRegistry;
  /** What the author should know of the tools and of what selects them, one sentence each. */
  readonly warnings: readonly string[];
  readonly selector: Selector;
  readonly executor: RunExecutor;
  readonly runs: RunPort;
  readonly limits: Limits;
  readonly log: Log;
  /** How each mounted MCP server is doing, in order; looked up anew with every call. */
  mounts(): readonly MountStatus[];
  /** What the server says of itself. */
  readonly info: {
    readonly version: string;
    readonly maxMessageBytes: number;
    readonly maxCallsInFlight: number;
    readonly features: readonly string[];
  };
}

/**
 * Builds the set of tools and all that runs it; `serve` puts it on a socket. A set with mounted MCP
 * servers takes its time to build: see {@link openToolPort}.
 *
 * @throws ConfigurationError for tools, palettes or stages that can't be used, naming them, for an
 *   isolated tool without `toolsFile`, and for a definition with mounts
 */
export function createToolPort(
  definition: ToolsDefinition,
  options: ToolPortOptions = {},
): ToolPort {
  requireDefinition("createToolPort", definition);
  const mounted = definition.capabilities.findIndex(isMcpMount);
  if (mounted >= 0) {
    throw new ConfigurationError(
      `capabilities[${mounted}] mounts an MCP server, which takes a while to start: write await openToolPort(...) instead of createToolPort(...)`,
    );
  }
  return build(definition, options, undefined);
}

/**
 * Builds a set as {@link createToolPort} does, after every MCP server that it mounts is started or
 * reached and has listed its tools. They end with the port: `serve`'s `close` does that, and, for a
 * port that is not served, `port.executor.drain(0)`.
 *
 * @throws ConfigurationError as there, and for a server that can't be mounted, naming it; no server
 *   is left behind then
 */
export async function openToolPort(
  definition: ToolsDefinition,
  options: ToolPortOptions = {},
): Promise<ToolPort> {
  requireDefinition("openToolPort", definition);
  const mounts = await openMounts(definition.capabilities, options.log ?? silent);
  try {
    return build(definition, options, mounts);
  } catch (error) {
    await mounts.close();
    throw error;
  }
}

function requireDefinition(what: string, definition: ToolsDefinition): void {
  if (isToolsDefinition(definition)) return;
  throw new ConfigurationError(
    `${what} was given what defineTools did not make: write ${what}(defineTools({ tools: [...] }))`,
  );
}

function build(
  definition: ToolsDefinition,
  options: ToolPortOptions,
  mounts: Mounts | undefined,
): ToolPort {
  const { journal, log = silent, toolsFile } = options;
  const limits = resolveLimits({ ...definition.limits, ...options.limits });
  const registry = buildRegistry({
    tools: definition.tools,
    capabilities: mounts?.capabilities ?? (definition.capabilities as readonly Capability[]),
  });
  const selector = createSelector(definition.selection);
  const { maxMessageBytes, maxCallsInFlight, maxCallsQueued, continueGraceMs, maxWorkers } = limits;
  const isolation = isolationFor(registry, {
    toolsFile,
    mounted: mounts?.listings,
    maxWorkers,
    log,
  });
  const spillFolder = createSpillFolder({ folder: options.resultsFolder, journal, log });
  const executor = createExecutor({
    registry,
    journal,
    log,
    slots: { inFlight: maxCallsInFlight, queued: maxCallsQueued },
    enforceBudgets: definition.enforceBudgets,
    continueGraceMs,
    isolate: isolation?.run,
    spill: (rendered, request) => spillFolder.spill(rendered, request),
    release: async () => {
      await Promise.all([isolation?.close(), mounts?.close()]);
      await spillFolder.close();
    },
    // A call's record repeats its arguments and its name: leave room for them.
    maxResultBytes: maxMessageBytes - Math.min(2 ** 20, maxMessageBytes / 16),
  });
  const runs = createRuns({ executor, digest: registry.digest, journal, log, continueGraceMs });
  const features = journal ? [journal.isDurable ? "journal" : "journal-memory"] : [];
  const unknown = warnOfUnknownNames(
    definition.selection,
    (name) => registry.get(name) !== undefined,
  );
  return Object.freeze({
    registry,
    warnings: Object.freeze([...(mounts?.warnings ?? []), ...registry.warnings, ...unknown]),
    selector,
    executor,
    runs,
    limits,
    log,
    mounts: () => mounts?.status() ?? [],
    info: Object.freeze({ version, maxMessageBytes, maxCallsInFlight, features }),
  });
}
