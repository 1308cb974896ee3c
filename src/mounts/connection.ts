import type { Client } from "@modelcontextprotocol/client";

import { version } from "../config/version.ts";
import type { JsonObject } from "../domain/json.ts";
import type { ToolContext } from "../domain/tool.ts";
import { after } from "../internal/timers.ts";
import { explain, isMethodUnknown, Lost, reasonOf } from "./failures.ts";
import { HttpTransport } from "./http-transport.ts";
import type { McpMount } from "./mcp.ts";
import { NotSent } from "./not-sent.ts";
import { loadSdk, type Sdk } from "./sdk.ts";
import { type StdioHooks, StdioTransport } from "./stdio-transport.ts";
import { Tap } from "./tap.ts";

/** The SDK gives a request up after a minute; calls have time limits of their own. */
const forever = 2 ** 31 - 1;
/** How long a server may take to accept a subscription to its changes, in milliseconds. */
const subscribeMs = 10_000;
/** How long after a lost subscription another is asked for, in milliseconds; at most doubled to a minute. */
const resubscribeMs = 1000;

/** What a connection tells beside answers. */
export interface ConnectionHooks extends Omit<StdioHooks, "gone"> {
  /** It can't be used any more; `cause` completes "the server …". Called at most once. */
  lost(cause: string): void;
  /** The server says, or may have said meanwhile, that its tools are others now. */
  toolsChanged(): void;
  /** A log message of the server. */
  logged(params: JsonObject): void;
  /** What went wrong beside any call. */
  trouble(error: Error): void;
}

/** What a server is reached with. */
export interface ConnectionOptions {
  readonly mount: McpMount;
  readonly hooks: ConnectionHooks;
  /** The server is known to want the `initialize` handshake. */
  readonly isLegacy: boolean;
}

/** A server could not be started, reached or agreed with; the text completes "the server …". */
export class NoConnection extends Error {
  override readonly name: string = "NoConnection";
  /** The last lines of its standard error. */
  readonly lastWords: readonly string[];

  constructor(cause: string, lastWords: readonly string[]) {
    super(cause);
    this.lastWords = lastWords;
  }
}

/** One connection to one server: for a local one, one process. */
export class Connection {
  readonly #sdk: Sdk;
  readonly #mount: McpMount;
  readonly #hooks: ConnectionHooks;
  readonly #tap: Tap;
  readonly #transport: StdioTransport | HttpTransport;
  readonly #client: Client;
  #lostCause: string | undefined;
  #isClosing = false;
  /** Its process has ended, not by us. */
  #hasEnded = false;
  #resubscription: NodeJS.Timeout | undefined;

  /**
   * Starts or reaches a server and agrees on the protocol with it.
   *
   * @throws NoConnection where that does not come about within the mount's `listTimeoutMs`
   */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const sdk = await loadSdk();
    const first = new Connection(sdk, options);
    try {
      return await first.#connect(options.isLegacy);
    } catch (error) {
      // Some servers of the older era end at a question that comes before the handshake.
      if (options.isLegacy || !first.#hasEnded) throw error;
      return await new Connection(sdk, options).#connect(true);
    }
  }

  private constructor(sdk: Sdk, { mount, hooks }: ConnectionOptions) {
    this.#sdk = sdk;
    this.#mount = mount;
    this.#hooks = hooks;
    this.#tap = new Tap(hooks);
    const { target } = mount;
    this.#transport =
      target.kind === "stdio"
        ? new StdioTransport(target, this.#tap, {
            noise: hooks.noise,
            stderr: hooks.stderr,
            gone: (cause) => {
              this.#hasEnded = !this.#isClosing;
              this.#lose(cause);
            },
          })
        : new HttpTransport(sdk, target, this.#tap);
    this.#client = new sdk.Client(
      { name: "toolport", version },
      {
        capabilities: {},
        versionNegotiation: { mode: "auto", probe: { timeoutMs: mount.listTimeoutMs / 3 } },
        // Output schemas are advertised, not enforced.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({
            valid: true,
            data: data as never,
            errorMessage: undefined,
          }),
        },
      },
    );
    this.#client.onerror = (error) => {
      if (!this.#isClosing) hooks.trouble(error);
    };
    this.#client.onclose = () => this.#lose("closed the connection");
  }

  /** What the server calls itself. */
  get serverName(): string | undefined {
    return this.#client.getServerVersion()?.name;
  }

  /** The last lines of a local server's standard error. */
  get lastWords(): readonly string[] {
    return this.#transport instanceof StdioTransport ? this.#transport.lastWords : [];
  }

  /** Whether the server speaks the era of the `initialize` handshake. */
  get isLegacy(): boolean {
    return this.#client.getProtocolEra() !== "modern";
  }

  /**
   * Asks for one page of the server's tools.
   *
   * @returns the page as it came; undefined where the server knows no such request
   * @throws Lost, NotSent or Refused
   */
  async listPage(cursor: string | undefined): Promise<JsonObject | undefined> {
    try {
      return await this.#ask(false, undefined, (token, signal) =>
        this.#client.request(
          {
            method: "tools/list",
            params: { ...(cursor !== undefined && { cursor }), _meta: { progressToken: token } },
          },
          { signal, timeout: this.#mount.listTimeoutMs },
        ),
      );
    } catch (error) {
      if (isMethodUnknown(this.#sdk, error)) return undefined;
      throw this.#explain(error, undefined);
    }
  }

  /**
   * Calls a tool. The server is told when the call's signal fires.
   *
   * @returns the server's answer as it came
   * @throws NotSent where the server can't have seen the call, Lost where it may have, Refused where
   *   it answered with an error of the protocol, and the signal's reason once that has fired
   */
  async call(
    tool: { readonly name: string; readonly inputSchema: JsonObject },
    args: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<JsonObject> {
    context.signal.throwIfAborted();
    try {
      return await this.#ask(true, context, (token, signal) =>
        this.#client.callTool(
          { name: tool.name, arguments: args, _meta: { progressToken: token } },
          // By the schema the SDK knows which arguments a remote server wants as headers too.
          { signal, timeout: forever, toolDefinition: tool as never },
        ),
      );
    } catch (error) {
      throw this.#explain(error, context.signal);
    }
  }

  /** Ends the connection, and the server's process with it. At most a little over 0.8 s. Idempotent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#resubscription);
    await this.#transport.close();
    await this.#client.close().catch(() => {});
  }

  async #connect(isLegacy: boolean): Promise<this> {
    const { listTimeoutMs } = this.#mount;
    const late = Promise.withResolvers<never>();
    const timer = after(listTimeoutMs, () => {
      late.reject(new Error(`did not answer within ${listTimeoutMs} ms`));
    });
    try {
      const connecting = this.#client.connect(this.#transport, {
        timeout: listTimeoutMs,
        ...(isLegacy && { prior: { kind: "legacy" } }),
      });
      connecting.catch(() => {});
      await Promise.race([connecting, late.promise]);
    } catch (error) {
      const cause = this.#lostCause ?? reasonOf(this.#sdk, error);
      await this.close();
      this.#lostCause ??= cause;
      throw new NoConnection(cause, this.lastWords);
    } finally {
      timer.stop();
    }
    if (!this.isLegacy && this.#client.getServerCapabilities()?.tools?.listChanged) {
      void this.#subscribe(resubscribeMs);
    }
    return this;
  }

  /** Sends a request and waits for its raw answer. */
  async #ask(
    isExact: boolean,
    context: ToolContext | undefined,
    send: (token: string, signal: AbortSignal) => Promise<unknown>,
  ): Promise<JsonObject> {
    if (this.#lostCause !== undefined) throw new NotSent(this.#lostCause);
    const answer = Promise.withResolvers<JsonObject>();
    const over = new AbortController();
    const following = this.#tap.open({
      isExact,
      progress: (params) => context && report(context, params),
      answered: answer.resolve,
      lost: () => answer.reject(new Lost("ended its answer before it was complete")),
    });
    const signal = context ? AbortSignal.any([context.signal, over.signal]) : over.signal;
    try {
      const sent = send(following.token, signal);
      sent.catch(() => {});
      return await Promise.race([answer.promise, sent.then(() => answer.promise)]);
    } finally {
      answer.promise.catch(() => {});
      following.close();
      over.abort();
    }
  }

  #explain(error: unknown, signal: AbortSignal | undefined): unknown {
    const hasSession =
      this.#transport instanceof HttpTransport && this.#transport.sessionId !== undefined;
    return explain(this.#sdk, error, { signal, hasSession, lostCause: this.#lostCause });
  }

  #lose(cause: string): void {
    if (this.#lostCause !== undefined) return;
    this.#lostCause = cause;
    clearTimeout(this.#resubscription);
    if (!this.#isClosing) this.#hooks.lost(cause);
  }

  /** In the newer era a server tells of changes only whoever has asked for it. */
  async #subscribe(waitMs: number): Promise<void> {
    let nextMs = waitMs;
    try {
      const subscription = await this.#client.listen(
        { toolsListChanged: true },
        { timeout: subscribeMs },
      );
      nextMs = resubscribeMs;
      if ((await subscription.closed) === "local") return;
    } catch (error) {
      if (!this.#isGone) this.#hooks.trouble(error as Error);
    }
    if (this.#isGone) return;
    this.#resubscription = setTimeout(() => {
      void this.#subscribe(Math.min(nextMs * 2, 60_000));
      this.#hooks.toolsChanged();
    }, nextMs);
    this.#resubscription.unref();
  }

  get #isGone(): boolean {
    return this.#isClosing || this.#lostCause !== undefined;
  }
}

function report(context: ToolContext, { progress, total, message }: JsonObject): void {
  if (typeof progress !== "number" || !Number.isFinite(progress)) return;
  const whole = typeof total === "number" && Number.isFinite(total) ? total : undefined;
  context.progress(progress, whole, typeof message === "string" ? message : "");
}
