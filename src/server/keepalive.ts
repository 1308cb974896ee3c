import type { ServerHttp2Session } from "node:http2";

/**
 * Finds peers that died without a word: asks for a sign of life every `everyMs` milliseconds, and
 * ends a connection that has not answered by the next time.
 */
export function keepAlive(session: ServerHttp2Session, everyMs: number): void {
  let isWaiting = false;
  const timer = setInterval(() => {
    if (session.destroyed) return;
    if (isWaiting) return session.destroy();
    try {
      isWaiting = session.ping(() => {
        isWaiting = false;
      });
    } catch {
      // The session is closing; its end stops the timer.
    }
  }, everyMs);
  timer.unref();
  session.once("close", () => clearInterval(timer));
}
