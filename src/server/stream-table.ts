import type { ServerHttp2Session } from "node:http2";
import { types } from "node:util";
import { SlotMap } from "../internal/slot-map.ts";

/**
 * Gives a new session a table of its streams that keeps no closed stream alive.
 *
 * Node's own is a busy Map, whose replaced tables hold every stream that has passed, with all that
 * hangs on it, until the next full collection (see {@link SlotMap}): small collections then take
 * fifteen milliseconds rather than one. The table is no part of Node's interface; where it is not
 * found as it was, empty and a Map, all stays as it is, which is slower and nothing else.
 *
 * @returns whether it was replaced
 */
export function replaceStreamTable(session: ServerHttp2Session): boolean {
  const state = stateOf(session);
  if (!types.isMap(state?.streams) || state.streams.size > 0) return false;
  state.streams = new SlotMap<number, object>();
  return true;
}

interface SessionState {
  streams?: unknown;
}

function stateOf(session: ServerHttp2Session): SessionState | undefined {
  const key = Object.getOwnPropertySymbols(session).find((one) => one.description === "state");
  const state: unknown = key && Reflect.get(session, key);
  return typeof state === "object" && state !== null ? state : undefined;
}
