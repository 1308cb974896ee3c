import { ConfigurationError } from "../errors.ts";
import type { LogLevel } from "../internal/log.ts";
import { type Limits, resolveLimits } from "./limits.ts";
import {
  choice,
  type Environment,
  type Flags,
  readSetting,
  type Setting,
  text,
  toggle,
} from "./settings.ts";

/** Where and how to serve: validated, complete and frozen. */
export interface ServeConfig {
  /** `unix:/path` or `host:port`; undefined: a unix socket in a private directory of its own. */
  readonly address: string | undefined;
  /** The bearer token, where it was given as text. A secret. */
  readonly token: string | undefined;
  /** The file that holds the token, or that a new one is written to. */
  readonly tokenFile: string | undefined;
  /** TCP without a token was asked for by name. */
  readonly insecureNoAuth: boolean;
  readonly journal: JournalConfig;
  /** End when standard input closes or the parent process dies. */
  readonly exitWithParent: boolean;
  /** What is logged: this level and the graver ones. */
  readonly logLevel: LogLevel;
  readonly limits: Limits;
}

/** Where claims and outcomes are kept: nowhere, in the process, or in a file that outlives it. */
export type JournalConfig =
  | { readonly kind: "none" }
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly path: string };

/** The settings of `serve` beside the limits. */
export const serveSettings: {
  readonly address: Setting<string | undefined>;
  readonly tokenFile: Setting<string | undefined>;
  readonly insecureNoAuth: Setting<boolean>;
  readonly journal: Setting<string | undefined>;
  readonly exitWithParent: Setting<boolean>;
  readonly logLevel: Setting<LogLevel>;
} = Object.freeze({
  address: text(
    "--address <address>",
    "TOOLPORT_ADDRESS",
    "where to listen: unix:/path/to/socket or host:port; port 0 picks one",
    "a unix socket in a private directory",
  ),
  tokenFile: text(
    "--token-file <file>",
    "TOOLPORT_TOKEN_FILE",
    "the file with the bearer token that callers must send; it is made, with a new token, where it is missing",
    "a private file, on TCP only",
  ),
  insecureNoAuth: toggle(
    "--insecure-no-auth",
    "TOOLPORT_INSECURE_NO_AUTH",
    "serve TCP without a token: anyone who reaches the port can run the tools",
  ),
  journal: text(
    "--journal <file>",
    "TOOLPORT_JOURNAL",
    "where the calls of a run and their outcomes are kept, so that none starts twice: a file, which outlives the process; memory; or none",
    "memory",
  ),
  exitWithParent: toggle(
    "--exit-with-parent",
    "TOOLPORT_EXIT_WITH_PARENT",
    "end when standard input closes or the parent process dies",
  ),
  logLevel: choice(
    "--log-level <level>",
    "TOOLPORT_LOG_LEVEL",
    ["debug", "info", "warn", "error"],
    "info",
    "how grave an event must be to be logged on standard error",
  ),
});

/**
 * Reads flags, `TOOLPORT_*` variables and defaults, in this order of precedence. The token itself is
 * never a flag, since other users can see a process's flags; `TOOLPORT_TOKEN` carries it.
 *
 * @param stated the limits that the tools file states; flags and variables win over them
 * @throws ConfigurationError that names the flag or the variable at fault
 */
export function readServeConfig(
  flags: Flags,
  env: Environment,
  stated: Partial<Limits> = {},
): ServeConfig {
  const address = readSetting(serveSettings.address, flags, env);
  const token = env["TOOLPORT_TOKEN"] || undefined;
  const tokenFile = readSetting(serveSettings.tokenFile, flags, env);
  const insecureNoAuth = readSetting(serveSettings.insecureNoAuth, flags, env);
  if (address !== undefined) checkAddress(address);
  if (insecureNoAuth && (token !== undefined || tokenFile !== undefined)) {
    throw new ConfigurationError("--insecure-no-auth contradicts a token: give one of the two");
  }
  return Object.freeze({
    address,
    token,
    tokenFile,
    insecureNoAuth,
    journal: journalIn(readSetting(serveSettings.journal, flags, env)),
    exitWithParent: readSetting(serveSettings.exitWithParent, flags, env),
    logLevel: readSetting(serveSettings.logLevel, flags, env),
    limits: resolveLimits(stated, flags, env),
  });
}

function journalIn(where: string | undefined): JournalConfig {
  if (where === undefined || where === "memory") return { kind: "memory" };
  return where === "none" ? { kind: "none" } : { kind: "file", path: where };
}

/** @throws ConfigurationError for what is neither `unix:/path` nor `host:port`, and for a port that no host has */
export function checkAddress(address: string): void {
  if (/^unix:./u.test(address)) return;
  const port = /^(?:\[[^\]\s]+\]|[^:/\s[\]]+):(?<port>\d+)$/u.exec(address)?.groups?.["port"];
  if (port === undefined) {
    throw new ConfigurationError(
      `the address ${JSON.stringify(address)} is of no known form: expected unix:/path/to/socket or host:port, such as 127.0.0.1:7000`,
    );
  }
  if (Number(port) > 65_535) {
    throw new ConfigurationError(
      `the address ${JSON.stringify(address)} has port ${port}, but the highest is 65535: give a lower one`,
    );
  }
}
