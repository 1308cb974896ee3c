import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import { ConfigurationError } from "../errors.ts";

/**
 * Reads a bearer token from a file; the white space around it does not count.
 *
 * @throws ConfigurationError where the file can't be read or holds no token
 */
export function readTokenFile(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new ConfigurationError(`cannot read the token file ${path}: ${codeOf(error)}`, {
      cause: error,
    });
  }
  if (/^[\x21-\x7e]+$/u.test(token)) return token;
  throw new ConfigurationError(
    `the token file ${path} holds no token: expected one word of printable ASCII characters`,
  );
}

/**
 * Reads a token from a file, or makes a new one of 256 random bits and writes it there, readable for
 * this user alone.
 *
 * @throws ConfigurationError where the file can be neither read nor made
 */
export function readOrMakeTokenFile(path: string): string {
  const token = randomBytes(32).toString("base64url");
  try {
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: "wx" });
    return token;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return readTokenFile(path);
    throw new ConfigurationError(`cannot write the token file ${path}: ${codeOf(error)}`, {
      cause: error,
    });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
