import { ConfigurationError } from "../errors.ts";
import { show } from "../registry/show.ts";

/** How often a server that has ended is started again, or reached again. */
export interface RestartOptions {
  /** How many times within `withinMs`; 0: never. Default 5. */
  readonly limit?: number | undefined;
  /** In milliseconds; default one minute. */
  readonly withinMs?: number | undefined;
  /**
   * How long the second attempt within `withinMs` waits after the first, in milliseconds; each further
   * one waits twice as long as the one before, at most 5 s. Default 100.
   */
  readonly delayMs?: number | undefined;
}

/** What every mounted server can be given. */
export interface MountOptions {
  /** The capability's name; default: what the server calls itself. */
  readonly name?: string | undefined;
  /** Put before each tool's name; default: the names are the server's own. */
  readonly prefix?: string | undefined;
  readonly restart?: RestartOptions | undefined;
  /** How long starting or reaching the server and listing its tools may take, in milliseconds. Default 30 s. */
  readonly listTimeoutMs?: number | undefined;
}

/** A server that is a program, spoken to over its standard input and output. */
export interface StdioMountOptions extends MountOptions {
  /** The program; looked for along `PATH`, without a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /**
   * Added to what every server gets of this process's environment: `HOME`, `LOGNAME`, `PATH`, `SHELL`,
   * `TERM`, `TMPDIR` and `USER`, and on Windows what takes their place. Nothing else is passed on.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Default: the working directory of this process. */
  readonly cwd?: string | undefined;
}

/** A server that is reached over Streamable HTTP. */
export interface HttpMountOptions extends MountOptions {
  /** Of the MCP endpoint, `http:` or `https:`. */
  readonly url: string | URL;
  /** Sent with every request, such as `{ authorization: "Bearer …" }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Where a mounted server is. */
export type MountTarget =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** What {@link mcp} made: a capability whose tools are listed when the set is built. Frozen. */
export interface McpMount {
  /** Null: the server's own. */
  readonly name: string | null;
  readonly prefix: string;
  readonly restart: {
    readonly limit: number;
    readonly withinMs: number;
    readonly delayMs: number;
  };
  readonly listTimeoutMs: number;
  readonly target: MountTarget;
}

const brand: unique symbol = Symbol.for("toolport.mcp");
const shared = ["name", "prefix", "restart", "listTimeoutMs"];
const stdio = ["command", "args", "env", "cwd"];
const http = ["url", "headers"];

/**
 * Mounts an MCP server: its tools become a capability of the set.
 *
 *     capabilities: [
 *       mcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"] }),
 *       mcp({ name: "crm", url: "https://crm.example/mcp", prefix: "crm_" }),
 *     ]
 *
 * The server is started, or reached, when the set is built, and its tools are listed once.
 *
 * @throws ConfigurationError for an option that does not exist or is of another type
 */
export function mcp(options: StdioMountOptions | HttpMountOptions): McpMount {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(
      `mcp was given ${show(options)}: expected { command: "..." } or { url: "..." }`,
    );
  }
  const given: Readonly<Record<string, unknown>> = { ...options };
  const isStdio = given["command"] !== undefined;
  if (isStdio === (given["url"] !== undefined)) {
    throw new ConfigurationError(
      isStdio
        ? "mcp was given both a command and a url: give the one that leads to the server"
        : 'mcp was given neither a command nor a url: expected { command: "..." } or { url: "..." }',
    );
  }
  refuseOthers("mcp", given, [...shared, ...(isStdio ? stdio : http)]);
  const mount = {
    name: optionalText("name", given["name"]) ?? null,
    prefix: optionalText("prefix", given["prefix"]) ?? "",
    restart: readRestart(given["restart"]),
    listTimeoutMs: whole("listTimeoutMs", given["listTimeoutMs"], 30_000, 1),
    target: Object.freeze(isStdio ? readStdio(given) : readHttp(given)),
  };
  Object.defineProperty(mount, brand, { value: 1 });
  return Object.freeze(mount);
}

/** Recognises what {@link mcp} made, also that of another copy of the package. */
export function isMcpMount(value: unknown): value is McpMount {
  return typeof value === "object" && value !== null && Object.hasOwn(value, brand);
}

function readStdio(given: Readonly<Record<string, unknown>>): MountTarget {
  const { args = [] } = given;
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
    throw new ConfigurationError(`mcp: args is ${show(args)}, expected an array of strings`);
  }
  return {
    kind: "stdio",
    command: text("command", given["command"]),
    args: Object.freeze([...args]),
    env: textRecord("env", given["env"]),
    cwd: optionalText("cwd", given["cwd"]),
  };
}

function readHttp(given: Readonly<Record<string, unknown>>): MountTarget {
  const asked = given["url"];
  const url = asked instanceof URL || typeof asked === "string" ? URL.parse(asked) : null;
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    // What is in a URL may be secret, so it is not repeated.
    throw new ConfigurationError(
      "mcp: url is no http: or https: address, such as https://crm.example/mcp",
    );
  }
  const headers = textRecord("headers", given["headers"]);
  for (const [name, value] of Object.entries(headers)) {
    if (isHeader(name, value)) continue;
    throw new ConfigurationError(`mcp: headers.${name} can't be sent as an HTTP header`);
  }
  return { kind: "http", url: url.href, headers };
}

function isHeader(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}

function readRestart(given: unknown): McpMount["restart"] {
  if (given !== undefined && (typeof given !== "object" || given === null)) {
    throw new ConfigurationError(`mcp: restart is ${show(given)}, expected { limit: 5 }`);
  }
  const options: Readonly<Record<string, unknown>> = { ...given };
  refuseOthers("mcp: restart", options, ["limit", "withinMs", "delayMs"]);
  return Object.freeze({
    limit: whole("restart.limit", options["limit"], 5, 0),
    withinMs: whole("restart.withinMs", options["withinMs"], 60_000, 1),
    delayMs: whole("restart.delayMs", options["delayMs"], 100, 0),
  });
}

function refuseOthers(
  what: string,
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  const other = Object.keys(given).find((key) => !known.includes(key));
  if (other === undefined) return;
  throw new ConfigurationError(
    `${what} has no option ${JSON.stringify(other)} here: expected any of ${known.join(", ")}`,
  );
}

function text(option: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.isWellFormed()) return value;
  throw new ConfigurationError(`mcp: ${option} is ${show(value)}, expected text`);
}

function optionalText(option: string, value: unknown): string | undefined {
  return value === undefined ? undefined : text(option, value);
}

function textRecord(option: string, value: unknown): Readonly<Record<string, string>> {
  if (value === undefined) return Object.freeze({});
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigurationError(`mcp: ${option} is ${show(value)}, expected an object of texts`);
  }
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === "string") continue;
    throw new ConfigurationError(`mcp: ${option}.${key} is ${show(member)}, expected text`);
  }
  return Object.freeze({ ...(value as Record<string, string>) });
}

function whole(option: string, value: unknown, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value);
  throw new ConfigurationError(
    `mcp: ${option} is ${show(value)}, expected a whole number, ${least} or more`,
  );
}
