import { createHash, timingSafeEqual } from "node:crypto";
import { ToolPortError } from "../errors.ts";

/**
 * Says who sends a request, by its `authorization` header.
 *
 * @returns the principal; empty where everybody is the same
 * @throws ToolPortError UNAUTHENTICATED; its text shows neither credential
 */
export type Authenticate = (authorization: string | undefined) => string;

/** Lets everybody in, as on a unix socket that only its owner can open. */
export const anybody: Authenticate = () => "";

/** Lets in who bears one of the tokens; they all are the same principal. */
export function bearerTokens(tokens: readonly string[]): Authenticate {
  const digests = tokens.map(digest);
  return (authorization) => {
    if (authorization === undefined) {
      throw unauthenticated("no credential was sent; send `authorization: Bearer <token>`");
    }
    const token = /^bearer +(\S+) *$/iu.exec(authorization)?.[1];
    const given = digest(token ?? "");
    // Digests are of one length and all are compared, so that time tells nothing.
    let isKnown = false;
    for (const known of digests) isKnown = timingSafeEqual(known, given) || isKnown;
    if (token === undefined || !isKnown) throw unauthenticated("the credential is not valid");
    return "";
  };
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function unauthenticated(text: string): ToolPortError {
  return new ToolPortError("UNAUTHENTICATED", text);
}
