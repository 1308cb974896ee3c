import { isIPv6 } from "node:net";
import { ConfigurationError } from "../errors.ts";

/** Where a server listens, or is listening. */
export type Address =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

/** The longest path of a unix socket that every system takes, in bytes. */
const maxUnixPathBytes = process.platform === "darwin" ? 103 : 107;

/**
 * Reads `unix:/path`, `host:port` or `[ipv6]:port`; port 0 has one picked.
 *
 * @throws ConfigurationError saying what is wrong and what the syntax is
 */
export function parseAddress(text: string): Address {
  if (text.startsWith("unix:")) return unixAddress(text.slice(5).replace(/^\/\/(?=\/)/u, ""));
  const match = /^(?:\[([^\]]+)\]|([^:[\]/\s]+)):(\d+)$/u.exec(text);
  if (!match) {
    throw new ConfigurationError(
      `the address ${JSON.stringify(text)} is not of the form unix:/path, host:port or [ipv6]:port`,
    );
  }
  const [, ipv6, name = "", digits] = match;
  const port = Number(digits);
  if (port > 65_535) {
    throw new ConfigurationError(
      `the address ${JSON.stringify(text)} has port ${digits}, but the highest is 65535: give a lower one`,
    );
  }
  if (ipv6 !== undefined && !isIPv6(ipv6)) {
    throw new ConfigurationError(
      `the address ${JSON.stringify(text)} has ${JSON.stringify(ipv6)} in brackets, which is no IPv6 address`,
    );
  }
  return { kind: "tcp", host: ipv6 ?? name, port };
}

/** An address as {@link parseAddress} reads it. */
export function formatAddress(address: Address): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

function unixAddress(path: string): Address {
  if (path === "") {
    throw new ConfigurationError("the address unix: lacks the path of its socket");
  }
  const bytes = Buffer.byteLength(path);
  if (bytes > maxUnixPathBytes) {
    throw new ConfigurationError(
      `the socket path ${path} has ${bytes} bytes, may have ${maxUnixPathBytes}; choose a shorter one`,
    );
  }
  return { kind: "unix", path };
}
