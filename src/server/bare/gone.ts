import type { ServerHttp2Stream } from "node:http2";

/**
 * Says why a peer has gone: a cancel resets the stream and leaves the connection. To be asked for
 * while the stream lives; one that has ended no longer knows its session.
 */
export function goneCause(stream: ServerHttp2Stream): () => "cancelled" | "disconnected" {
  const { session } = stream;
  // A lost connection ends its streams before its session.
  return () =>
    session && !session.destroyed && !session.socket.destroyed ? "cancelled" : "disconnected";
}
