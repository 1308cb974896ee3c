/**
 * The official SDK's client, loaded with the first mount: a set without mounts doesn't pay for it.
 *
 * It is the second generation of that SDK, since it alone speaks both eras of the protocol: the
 * stateless one of 2026-07-28 and, to any older server, the `initialize` handshake.
 */
export type Sdk = typeof import("@modelcontextprotocol/client");

let loading: Promise<Sdk> | undefined;

/** Loads the SDK, once. */
export function loadSdk(): Promise<Sdk> {
  loading ??= import("@modelcontextprotocol/client");
  return loading;
}
