import { resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";
import { getHeapStatistics } from "node:v8";

import type { Registry, Tool } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import type { CallContext } from "../execution/context.ts";
import { type Log, silent } from "../internal/log.ts";
import type { MountListing } from "../mounts/mounted-capability.ts";
import { IsolatedCall } from "./isolated-call.ts";
import { Pool } from "./pool.ts";

/** What runs isolated tools, and within what limits. */
export interface IsolationOptions {
  /** The file whose default export the set was built from. */
  readonly toolsFile: string | URL;
  /** What the mounts of that set listed, in order; left out: it has none. */
  readonly mounted?: readonly MountListing[] | undefined;
  /** The digest of that set. */
  readonly digest: string;
  /** How many threads there may be, and so how many isolated calls at once. Default 4. */
  readonly maxWorkers?: number | undefined;
  /** How long a body may go on after its signal has fired, in milliseconds. Default 2000. */
  readonly graceMs?: number | undefined;
  /** How long a thread without a call is kept, in milliseconds. Default 30 s. */
  readonly idleMs?: number | undefined;
  /**
   * How much memory a thread may use, in MiB: its heap, what is not collected yet included, and its
   * buffers. Default: as much as the heap of the process may have.
   */
  readonly maxMemoryMb?: number | undefined;
  readonly log?: Log | undefined;
}

/** Runs the bodies of isolated tools in worker threads. */
export interface Isolation {
  /**
   * Runs one call of a tool in a thread that has loaded the tools file itself. The arguments are
   * checked there once more, from their text, so that the tool gets what its schema library makes of
   * them, of whatever class that is.
   *
   * The promise settles when nothing of the body runs any more: with its result, rendered; with what
   * it threw; with an AbortError where it was aborted and had to be stopped; or with a HOST_LOST
   * failure where its thread ended or can't be used.
   */
  run(tool: Tool, args: unknown, context: CallContext): Promise<unknown>;
  /** Ends every thread, and the calls in them. At most a little over half a second. Idempotent. */
  close(): Promise<void>;
  /** How many threads there are. */
  readonly size: number;
}

/** Makes what runs isolated tools; the first thread starts with the first call. */
export function createIsolation(options: IsolationOptions): Isolation {
  const { toolsFile, graceMs = 2000 } = options;
  const path = toolsFile instanceof URL || toolsFile.startsWith("file:");
  const pool = new Pool({
    toolsFile: path ? fileURLToPath(toolsFile) : resolvePath(toolsFile),
    mounted: options.mounted ?? [],
    digest: options.digest,
    maxWorkers: options.maxWorkers ?? 4,
    idleMs: options.idleMs ?? 30_000,
    maxMemoryMb: options.maxMemoryMb ?? Math.ceil(getHeapStatistics().heap_size_limit / 2 ** 20),
    log: options.log ?? silent,
  });
  let closing: Promise<void> | undefined;
  return Object.freeze({
    run(_tool: Tool, _args: unknown, context: CallContext) {
      return new Promise((resolve, reject) => {
        const call: IsolatedCall = new IsolatedCall(context, {
          graceMs,
          free: (thread) => pool.free(call, thread),
          again: () => pool.again(call),
          settled: (end) => (end.ok ? resolve(end.value) : reject(end.thrown)),
        });
        if (pool.isClosed || context.signal.aborted) call.drop();
        else pool.assign(call);
      });
    },
    close() {
      closing ??= pool.close();
      return closing;
    },
    get size() {
      return pool.size;
    },
  });
}

/**
 * Makes what runs the isolated tools of a set; undefined where it has none.
 *
 * @throws ConfigurationError where it has one and it is not said which file the set comes from
 */
export function isolationFor(
  registry: Registry,
  options: Omit<IsolationOptions, "digest" | "toolsFile"> & {
    readonly toolsFile: string | URL | undefined;
  },
): Isolation | undefined {
  const isolated = registry.tools.find(({ limits }) => limits.isolate === "worker");
  if (!isolated) return undefined;
  const { toolsFile } = options;
  if (toolsFile === undefined) {
    throw new ConfigurationError(
      `the tool ${JSON.stringify(isolated.descriptor.name)} is isolated, so worker threads must be able to load it: define it in a tools file, and give createToolPort that file as toolsFile`,
    );
  }
  return createIsolation({ ...options, toolsFile, digest: registry.digest });
}
