import type { ServerHttp2Session } from "node:http2";

/**
 * Says why the peer of a stream has gone: a cancel resets the stream and leaves the connection.
 *
 * @param session the stream's, as it was while the stream lived
 */
export function goneCause(session: ServerHttp2Session | undefined): "cancelled" | "disconnected" {
  // A lost connection ends its streams before its session.
  return session && !session.destroyed && !session.socket.destroyed ? "cancelled" : "disconnected";
}
