import type { JsonValue } from "../domain/json.ts";
import type { ToolContext } from "../domain/tool.ts";
import { ConfigurationError } from "../errors.ts";
import { failure, SettledFailure } from "../execution/describe-error.ts";
import type { Log, LogLevel } from "../internal/log.ts";
import { after } from "../internal/timers.ts";
import { Connection, type ConnectionHooks, NoConnection } from "./connection.ts";
import { withDigits } from "./exact-arguments.ts";
import { Lost, Refused } from "./failures.ts";
import {
  compareLists,
  listAllPages,
  type ListedPages,
  type ListedTool,
  readListedTools,
} from "./listed-tools.ts";
import type { McpMount, MountTarget } from "./mcp.ts";
import type { MountListing } from "./mounted-capability.ts";
import { NotSent } from "./not-sent.ts";
import { renderAnswer } from "./render-answer.ts";
import { RestartBudget } from "./restart-budget.ts";

// One mounted server, from the construction of the set to its end:
//
//     opening ──▶ up ──▶ down ──▶ opening …      down: no connection; the next use brings it back
//        └───────┴────────┴──▶ closed
//
// I1  There is at most one connection, and at most one attempt to open one; whoever needs it meanwhile
//     waits for that attempt, within the limits of its own call.
// I2  A call that the server may have seen is never sent again; one that it can't have seen is sent
//     once more, over a new connection.
// I3  The tools that were listed first are the set's. What is listed later is only compared with them.
// I4  Once closed nothing is opened: an attempt under way is closed as soon as it succeeds.

/** How long to wait for further word of a change before the tools are listed again, in milliseconds. */
const settleMs = 200;

/** How a mounted server is doing. */
export interface MountStatus {
  readonly server: string;
  readonly state: "opening" | "up" | "down" | "closed";
  /** How many times it was brought back. */
  readonly restarts: number;
  /** How many tools the server has added, removed or changed since the set was built. */
  readonly changes: number;
}

/** Keeps one MCP server within reach. */
export class MountedServer {
  readonly #mount: McpMount;
  readonly #log: Log;
  readonly #budget: RestartBudget;
  #name: string;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #isClosed = false;
  #isLegacy = false;
  #first: readonly JsonValue[] = [];
  #removed: ReadonlySet<string> = new Set();
  #changes = 0;
  #restarts = 0;
  #comparison: NodeJS.Timeout | undefined;

  constructor(mount: McpMount, log: Log) {
    this.#mount = mount;
    this.#log = log;
    this.#budget = new RestartBudget(mount.restart);
    this.#name = mount.name ?? nameOf(mount.target);
  }

  get status(): MountStatus {
    const state = this.#isClosed
      ? "closed"
      : this.#connection
        ? "up"
        : this.#opening
          ? "opening"
          : "down";
    return { server: this.#name, state, restarts: this.#restarts, changes: this.#changes };
  }

  /**
   * Starts or reaches the server and lists its tools.
   *
   * @returns what it offers, and warnings that name it
   * @throws ConfigurationError that names the server and says why, where that does not come about
   */
  async open(): Promise<{
    readonly listing: MountListing;
    readonly warnings: readonly string[];
  }> {
    let connection: Connection | undefined;
    try {
      connection = await this.#openOne();
      this.#name = this.#mount.name ?? connection.serverName ?? this.#name;
      const { tools: listed, warnings } = await this.#listAll(connection);
      this.#first = listed;
      const read = readListedTools(listed, this.#mount.prefix);
      this.#log("info", "mounted", { server: this.#name, tools: read.tools.length });
      const isEmpty = read.tools.length === 0 ? ["it offers no tools"] : [];
      return {
        listing: { name: this.#name, tools: read.tools },
        warnings: [...warnings, ...read.warnings, ...isEmpty].map(
          (warning) => `MCP server ${JSON.stringify(this.#name)}: ${warning}`,
        ),
      };
    } catch (error) {
      await this.close();
      const text = this.#cantMount(error, connection?.lastWords);
      throw new ConfigurationError(text, { cause: error });
    }
  }

  /** Calls a tool on the server; settles as the body of that tool. */
  async call(
    tool: ListedTool,
    args: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<unknown> {
    const asked = { name: tool.remoteName, inputSchema: tool.inputSchema };
    for (let isFirst = true; ; isFirst = false) {
      const connection = this.#connection ?? (await this.#reconnect(context.signal));
      if (this.#removed.has(tool.remoteName)) throw this.#noLonger(tool);
      try {
        return renderAnswer(this.#name, await connection.call(asked, withDigits(args), context));
      } catch (error) {
        if (!(error instanceof NotSent)) throw this.#failureOf(error);
        this.#forget(connection, error.message);
        if (!isFirst) throw this.#lost(error.message, error);
      }
    }
  }

  /** Ends the connection, and the server's process with it. At most a little over 0.8 s. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#comparison);
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  async #openOne(): Promise<Connection> {
    let opened: Connection | undefined;
    const connection = await Connection.open({
      mount: this.#mount,
      isLegacy: this.#isLegacy,
      hooks: this.#hooks((cause) => opened && this.#forget(opened, cause)),
    });
    opened = connection;
    if (this.#isClosed) {
      await connection.close();
      throw new NoConnection("is shut down", []);
    }
    this.#isLegacy = connection.isLegacy;
    this.#connection = connection;
    return connection;
  }

  async #listAll(connection: Connection): Promise<ListedPages> {
    const { listTimeoutMs } = this.#mount;
    const late = Promise.withResolvers<never>();
    const timer = after(listTimeoutMs, () => {
      late.reject(new Error(`did not list its tools within ${listTimeoutMs} ms`));
    });
    const listing = listAllPages((cursor) => connection.listPage(cursor));
    listing.catch(() => {});
    try {
      return await Promise.race([listing, late.promise]);
    } finally {
      timer.stop();
    }
  }

  #hooks(lost: (cause: string) => void): ConnectionHooks {
    const tell = (level: LogLevel, event: string, fields: object): void =>
      this.#log(level, event, { server: this.#name, ...fields });
    return {
      lost,
      noise: (line) => tell("info", "mount_stdout", { line }),
      stderr: (line) => tell("info", "mount_stderr", { line }),
      logged: ({ level, data, logger }) => tell(levelOf(level), "mount_message", { logger, data }),
      trouble: (error) => tell("debug", "mount_trouble", { error: error.message }),
      toolsChanged: () => this.#compareSoon(),
    };
  }

  /** The connection is of no use any more. */
  #forget(connection: Connection, cause: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#log("warn", "mount_lost", { server: this.#name, cause });
    void connection.close();
  }

  async #reconnect(signal: AbortSignal): Promise<Connection> {
    this.#opening ??= this.#bringBack().finally(() => {
      this.#opening = undefined;
    });
    const opening = this.#opening;
    opening.catch(() => {});
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await Promise.race([aborted.promise, opening]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Tries as often as the budget allows. */
  async #bringBack(): Promise<Connection> {
    let why = "";
    for (;;) {
      if (this.#isClosed) throw this.#lost("is shut down");
      const permit = this.#budget.take();
      if (!permit.ok) {
        const { limit, withinMs } = this.#mount.restart;
        const seconds = Math.ceil(permit.againMs / 1000);
        throw this.#lost(
          limit === 0
            ? "is gone, and is not to be restarted"
            : `is gone, and was tried ${limit} times within ${withinMs} ms; the next attempt is allowed in ${seconds} s${why}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, permit.waitMs));
      try {
        const connection = await this.#openOne();
        this.#restarts += 1;
        this.#log("info", "mount_restored", { server: this.#name });
        this.#compareSoon();
        return connection;
      } catch (error) {
        const cause = error instanceof Error ? error.message : String(error);
        this.#log("warn", "mount_not_restored", { server: this.#name, cause });
        why = ` (the last time it ${cause})`;
      }
    }
  }

  #compareSoon(): void {
    if (this.#isClosed || this.#comparison) return;
    this.#comparison = setTimeout(() => {
      this.#comparison = undefined;
      void this.#compare();
    }, settleMs);
    this.#comparison.unref();
  }

  async #compare(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return;
    try {
      const { tools } = await this.#listAll(connection);
      const changes = compareLists(this.#first, tools);
      const { added, removed, changed } = changes;
      const count = added.length + removed.length + changed.length;
      const isNew = count !== this.#changes || count > 0;
      this.#changes = count;
      this.#removed = new Set(removed);
      if (!isNew) return;
      this.#log(count > 0 ? "warn" : "info", "mount_tools_changed", {
        server: this.#name,
        ...changes,
        advice:
          count > 0
            ? "the set stays as it was built: restart to take the changes over"
            : "the tools are as they were when the set was built",
      });
    } catch (error) {
      this.#log("warn", "mount_not_listed", { server: this.#name, error });
    }
  }

  #noLonger(tool: ListedTool): SettledFailure {
    return new SettledFailure(
      "RAISED",
      `the MCP server ${this.#quoted} no longer offers the tool ${JSON.stringify(tool.remoteName)}`,
    );
  }

  /** What a failed call comes to; what is not the connection's failure is passed on. */
  #failureOf(error: unknown): unknown {
    if (error instanceof Lost) return this.#lost(`${error.message} during the call`, error);
    if (!(error instanceof Refused)) return error;
    return new SettledFailure(
      "RAISED",
      `the MCP server ${this.#quoted} refused the call: ${error.message}`,
      { cause: error },
    );
  }

  #lost(cause: string, error?: unknown): SettledFailure {
    const { errorKind, error: text } = failure(
      "HOST_LOST",
      `the MCP server ${this.#quoted} ${cause}`,
    );
    return new SettledFailure(errorKind, text, { cause: error });
  }

  #cantMount(error: unknown, heardLater: readonly string[] = []): string {
    const text = error instanceof Error ? error.message : String(error);
    const cause = error instanceof Refused ? `refused to list its tools: ${text}` : text;
    const { target } = this.#mount;
    const where = target.kind === "stdio" ? target.command : withoutSecrets(target.url);
    const words = error instanceof NoConnection ? error.lastWords : heardLater;
    const heard = words.length === 0 ? "" : `; its last words on stderr: ${words.join(" ⏎ ")}`;
    return `the MCP server ${this.#quoted} (${where}) can't be mounted: it ${cause}${heard}`;
  }

  get #quoted(): string {
    return JSON.stringify(this.#name);
  }
}

/** What to call a server that has not said its name. */
function nameOf(target: MountTarget): string {
  if (target.kind === "http") return new URL(target.url).host;
  return target.command.split(/[/\\]/u).at(-1) ?? target.command;
}

/** A URL without what may be secret in it. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

const levels: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  warning: "warn",
  error: "error",
  critical: "error",
  alert: "error",
  emergency: "error",
};

function levelOf(level: JsonValue | undefined): LogLevel {
  return (typeof level === "string" ? levels[level] : undefined) ?? "info";
}
