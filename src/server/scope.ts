import { type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { ToolPortError } from "../errors.ts";
import type { Deadline } from "./deadline.ts";

/** What is known of one RPC beside its message. */
export interface RpcScope {
  /** Who asks; empty where everybody is the same. */
  readonly principal: string;
  readonly deadline: Deadline | undefined;
  /** Why the RPC may not go on at all; answered before its message is read. */
  readonly refusal: ToolPortError | undefined;
  /** Why a call is left whose request signal has fired. */
  readonly goneCause: () => "cancelled" | "disconnected";
}

const none: RpcScope = {
  principal: "",
  deadline: undefined,
  // An RPC whose scope was forgotten must not pass for an authenticated one.
  refusal: new ToolPortError("UNAUTHENTICATED", "the request was not authenticated"),
  goneCause: () => "disconnected",
};

/** Where handlers find the scope. */
export const scopeKey: ContextKey<RpcScope> = createContextKey<RpcScope>(none, {
  description: "rpc scope",
});

/** The scope of the RPC that a handler serves. */
export function scopeOf(context: HandlerContext): RpcScope {
  return context.values.get(scopeKey);
}
