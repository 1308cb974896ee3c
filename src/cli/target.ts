import type { ToolPortClient } from "../client/index.ts";
import { checkAddress } from "../config/serve-config.ts";
import { readTokenFile } from "../config/token.ts";
import { loadToolsFile } from "../config/tools-file.ts";
import { ConfigurationError } from "../errors.ts";
import type { Console } from "./console.ts";
import { servePrivately } from "./serve.ts";

/** Which tools a command speaks to. */
export interface TargetFlags {
  readonly tools?: string;
  readonly address?: string;
  readonly tokenFile?: string;
}

/**
 * Connects to a running sidecar, or starts a tools file in this process on a private socket for as
 * long as `use` takes.
 *
 * @throws ConfigurationError where it is not said which, or both are
 */
export async function withPort(
  flags: TargetFlags,
  io: Console,
  use: (client: ToolPortClient) => Promise<number>,
): Promise<number> {
  // `serve` has no need of a client, and is to start at once.
  const { connect } = await import("../client/index.ts");
  if (flags.tools !== undefined) {
    if (flags.address !== undefined) {
      throw new ConfigurationError("--tools and --address both say where the tools are: give one");
    }
    const served = await servePrivately(await loadToolsFile(flags.tools), flags.tools, io.err);
    const client = connect({ address: served.address });
    try {
      return await use(client);
    } finally {
      client.close();
      await served.close();
    }
  }
  const address = flags.address ?? (process.env["TOOLPORT_ADDRESS"] || undefined);
  if (address === undefined) {
    throw new ConfigurationError(
      "it is not said where the tools are: --tools FILE starts a file here, --address (or TOOLPORT_ADDRESS) asks a running sidecar",
    );
  }
  checkAddress(address);
  const client = connect({ address, token: tokenFor(flags) });
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** The command that shows `what` of the manifest from where these flags point, to be typed as it is. */
export function manifestCommand(what: string, { tools, address, tokenFile }: TargetFlags): string {
  const flags = { "--tools": tools, "--address": address, "--token-file": tokenFile };
  const words = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, value],
  );
  return ["toolport", "manifest", what, ...words].map(shellWord).join(" ");
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The token that a server asks for: from the flag, or from the environment. */
export function tokenFor(flags: Pick<TargetFlags, "tokenFile">): string | undefined {
  if (flags.tokenFile !== undefined) return readTokenFile(flags.tokenFile);
  const token = process.env["TOOLPORT_TOKEN"]?.trim();
  if (token) return token;
  const file = process.env["TOOLPORT_TOKEN_FILE"];
  return file ? readTokenFile(file) : undefined;
}
