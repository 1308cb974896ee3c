import type { JSONRPCMessage } from "@modelcontextprotocol/client";

import type { JsonObject } from "../domain/json.ts";

/** What one request is told of, in the order in which it comes. */
export interface TapHooks {
  /** Whether integers beyond 2^53 in the result are to be bigints. */
  readonly isExact: boolean;
  /** The server tells how far it has come. */
  progress?(params: JsonObject): void;
  /** The server's result as it came, all of it. Called at most once. */
  answered(result: JsonObject): void;
  /** The answer can't come any more, and nobody knows whether the request has run. */
  lost(): void;
}

/** What a server says without being asked. */
export interface TapNotices {
  toolsChanged(): void;
  logged(params: JsonObject): void;
}

interface Entry {
  readonly token: string;
  readonly hooks: TapHooks;
  isAnswered: boolean;
}

/**
 * Listens between the SDK and its transport, and takes what the SDK would lose: it refuses a whole
 * page of tools for one that is malformed, and a whole answer for one content item of a kind that it
 * doesn't know; progress that comes right before an answer it drops; and it rounds large integers.
 * So results reach {@link TapHooks.answered} as they came, and the SDK sees an empty one.
 *
 * A request is known by its progress token, which therefore every request has.
 */
export class Tap {
  readonly #notices: TapNotices;
  readonly #entries = new Map<string, Entry>();
  readonly #byId = new Map<string | number, Entry>();
  readonly #exact = new Map<string | number, JsonObject>();
  #next = 1;

  constructor(notices: TapNotices) {
    this.#notices = notices;
  }

  /** Follows a request; give it the token that is returned, and close it when the request has ended. */
  open(hooks: TapHooks): { readonly token: string; close(): void } {
    const token = `toolport-${this.#next}`;
    this.#next += 1;
    this.#entries.set(token, { token, hooks, isAnswered: false });
    return {
      token,
      close: () => {
        this.#entries.delete(token);
        for (const [id, entry] of this.#byId) {
          if (entry.token !== token) continue;
          this.#byId.delete(id);
          this.#exact.delete(id);
        }
      },
    };
  }

  /** A message is about to be sent. */
  outgoing(message: JSONRPCMessage): void {
    if (!("method" in message) || !("id" in message)) return;
    const token = member(member(message.params, "_meta"), "progressToken");
    const entry = typeof token === "string" ? this.#entries.get(token) : undefined;
    if (entry) this.#byId.set(message.id, entry);
  }

  /** No answer can come to this message any more. Nothing where it has one. */
  unanswerable(message: JSONRPCMessage): void {
    const id = "id" in message ? message.id : undefined;
    if (id !== undefined) this.#byId.get(id)?.hooks.lost();
  }

  /** The text of a message that is about to come; large integers in its result are read exactly. */
  text(text: string): void {
    // A run of sixteen digits is the shortest that can be an unsafe integer.
    if (!/\d{16}/u.test(text)) return;
    try {
      const message: unknown = JSON.parse(text, keepDigits);
      const id = member(message, "id");
      const result = member(message, "result");
      if ((typeof id === "number" || typeof id === "string") && isObject(result)) {
        if (this.#byId.get(id)?.hooks.isExact) this.#exact.set(id, result);
      }
    } catch {
      // Whoever reads the message tells what is wrong with it.
    }
  }

  /** A message has come; returns what the SDK is to see, undefined for nothing. */
  incoming(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if ("method" in message) return this.#notice(message);
    const id = "id" in message ? message.id : undefined;
    const entry = id === undefined ? undefined : this.#byId.get(id);
    if (id === undefined || !entry) return message;
    const exact = this.#exact.get(id);
    this.#byId.delete(id);
    this.#exact.delete(id);
    if (!("result" in message)) return message;
    const result = message.result as unknown as JsonObject;
    const type = result["resultType"];
    // The SDK asks again by itself where the server wants to know more.
    if (type !== undefined && type !== "complete") return message;
    if (!entry.isAnswered) {
      entry.isAnswered = true;
      entry.hooks.answered(exact ?? result);
    }
    return { ...message, result: emptied(result) };
  }

  #notice(message: Extract<JSONRPCMessage, { method: string }>): JSONRPCMessage | undefined {
    const params = (message.params ?? {}) as unknown as JsonObject;
    switch (message.method) {
      case "notifications/progress": {
        const token = params["progressToken"];
        const entry = typeof token === "string" ? this.#entries.get(token) : undefined;
        if (entry && !entry.isAnswered) entry.hooks.progress?.(params);
        return undefined;
      }
      case "notifications/tools/list_changed":
        this.#notices.toolsChanged();
        return message;
      case "notifications/message":
        this.#notices.logged(params);
        return undefined;
      default:
        return message;
    }
  }
}

/** A result that says nothing, in a form that no schema refuses. */
function emptied(result: JsonObject): JsonObject {
  const { structuredContent: _, isError: __, nextCursor: ___, ...rest } = result;
  return { ...rest, ...("tools" in result ? { tools: [] } : { content: [] }) };
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/u.test(source) ? BigInt(source) : value;
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
