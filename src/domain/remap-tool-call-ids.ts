import { ToolPortError } from "../errors.ts";

/**
 * New ids for a message's tool calls: a list gives them by position, a Map or an object by the
 * exact id that a call has now.
 */
export type CallIds =
  | readonly string[]
  | ReadonlyMap<string, string>
  | Readonly<Record<string, string>>;

/** The three places of a message that carry ids of the calls it makes. */
interface Places {
  readonly calls: readonly unknown[] | null;
  readonly content: readonly unknown[] | null;
  readonly chunks: readonly unknown[] | null;
}

/**
 * Gives the tool calls of an assistant's message new ids, wherever the message carries them:
 * `tool_calls`, `tool_use` blocks of its content, and `tool_call_chunks`. It reads LangChain's
 * messages, whose class the copy keeps, and plain ones in OpenAI's and Anthropic's shapes. Nothing
 * else of the message changes: not other blocks, text or arguments, not `invalid_tool_calls`,
 * `additional_kwargs` or the message's own id.
 *
 * A list needs one id a call. The calls are `tool_calls` where the message has that list, else its
 * `tool_use` blocks, else its chunks; the k-th block or chunk gets the k-th id, whatever its
 * `index`. There may be fewer blocks or chunks than ids, never more.
 *
 * A Map or an object is applied to every id in one pass, so two ids can be swapped. Ids that it
 * does not name stay as they are, and counts do not matter.
 *
 * @returns a copy, or the very same message where no id changes; the message itself is never
 *   touched, and what did not change is shared with it
 * @throws ToolPortError `REQUEST_INVALID` naming both counts where they do not fit, or the id that
 *   is no string
 */
export function remapToolCallIds<M extends object>(message: M, ids: CallIds): M {
  const places = readPlaces(message);
  const changed = isList(ids) ? byPosition(places, ids) : byOwnId(places, ids);
  if (changed === null) return message;
  const parts: [string, readonly unknown[] | null, readonly unknown[] | null][] = [
    ["tool_calls", places.calls, changed.calls],
    ["content", places.content, changed.content],
    ["tool_call_chunks", places.chunks, changed.chunks],
  ];
  const replaced = new Map(
    parts.flatMap(([key, before, now]) => (before === now ? [] : [[key, now] as const])),
  );
  return replaced.size === 0 ? message : copyWith(message, replaced);
}

function byPosition(places: Places, given: readonly string[]): Places | null {
  const ids = Array.from(given, (id: unknown, i) => requireText(id, `the id at position ${i}`));
  const blocks = (places.content ?? []).filter(isToolUse);
  const chunks = places.chunks ?? [];
  const calls = places.calls ?? (blocks.length > 0 ? blocks : chunks);
  if (calls.length !== ids.length) throw countError("tool call", calls.length, ids.length);
  if (calls.every((call, i) => idOf(call) === ids[i])) return null;
  if (blocks.length > ids.length) throw countError("tool_use block", blocks.length, ids.length);
  if (chunks.length > ids.length) throw countError("tool call chunk", chunks.length, ids.length);
  let block = 0;
  return {
    calls: places.calls?.map((call, i) => withId(call, ids[i])) ?? null,
    content:
      places.content?.map((item) => (isToolUse(item) ? withId(item, ids[block++]) : item)) ?? null,
    chunks: places.chunks?.map((chunk, i) => withId(chunk, ids[i])) ?? null,
  };
}

function byOwnId(places: Places, ids: Exclude<CallIds, readonly string[]>): Places {
  const rename = (item: unknown): unknown => {
    const id = idOf(item);
    return typeof id === "string" ? withId(item, lookUp(ids, id)) : item;
  };
  return {
    calls: mapChanged(places.calls, rename),
    content: mapChanged(places.content, (item) => (isToolUse(item) ? rename(item) : item)),
    chunks: mapChanged(places.chunks, rename),
  };
}

function lookUp(ids: Exclude<CallIds, readonly string[]>, id: string): string {
  const found: unknown = isMap(ids) ? ids.get(id) : Object.hasOwn(ids, id) ? ids[id] : undefined;
  return found === undefined ? id : requireText(found, `the new id of ${JSON.stringify(id)}`);
}

function readPlaces(message: object): Places {
  const { tool_calls, content, tool_call_chunks } = message as Readonly<Record<string, unknown>>;
  return { calls: asList(tool_calls), content: asList(content), chunks: asList(tool_call_chunks) };
}

function asList(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? value : null;
}

/** The same list where nothing changes. */
function mapChanged(
  list: readonly unknown[] | null,
  change: (item: unknown) => unknown,
): readonly unknown[] | null {
  if (list === null) return null;
  const mapped = list.map(change);
  return mapped.some((item, i) => item !== list[i]) ? mapped : list;
}

function withId(item: unknown, id: string | undefined): unknown {
  if (!isObject(item) || id === undefined || idOf(item) === id) return item;
  return { ...item, id };
}

function idOf(item: unknown): unknown {
  return isObject(item) ? (item as { readonly id?: unknown }).id : undefined;
}

function isToolUse(item: unknown): boolean {
  return isObject(item) && (item as { readonly type?: unknown }).type === "tool_use";
}

/** Copies a message, class and all, with some properties replaced. */
function copyWith<M extends object>(message: M, replaced: ReadonlyMap<string, unknown>): M {
  const copy = Object.create(Object.getPrototypeOf(message) as object | null) as M;
  for (const key of new Set([...Reflect.ownKeys(message), ...replaced.keys()])) {
    // A property of the copy holds a value even where the original has an accessor: LangChain's
    // streamed messages have accessors that are bound to the object they were made for.
    const value: unknown =
      typeof key === "string" && replaced.has(key) ? replaced.get(key) : Reflect.get(message, key);
    Object.defineProperty(copy, key, {
      value: key === "lc_kwargs" && isObject(value) ? replaceIn(value, replaced) : value,
      enumerable: Object.getOwnPropertyDescriptor(message, key)?.enumerable ?? true,
      writable: true,
      configurable: true,
    });
  }
  return copy;
}

/** LangChain keeps what a message was constructed with, and serializes those keys. */
function replaceIn(kwargs: object, replaced: ReadonlyMap<string, unknown>): object {
  const own = [...replaced].filter(([key]) => Object.hasOwn(kwargs, key));
  return { ...kwargs, ...Object.fromEntries(own) };
}

function requireText(id: unknown, what: string): string {
  if (typeof id === "string") return id;
  throw new ToolPortError("REQUEST_INVALID", `${what} is no string; give every call a string id.`);
}

function countError(thing: string, has: number, given: number): ToolPortError {
  const things = has === 1 ? thing : `${thing}s`;
  const ids = given === 1 ? "1 id was" : `${given} ids were`;
  return new ToolPortError(
    "REQUEST_INVALID",
    `The message has ${has} ${things}, but ${ids} given; give one id for each call.`,
  );
}

function isList(ids: CallIds): ids is readonly string[] {
  return Array.isArray(ids);
}

function isMap(ids: Exclude<CallIds, readonly string[]>): ids is ReadonlyMap<string, string> {
  // By its shape: a Map of another realm is one too, and an object's own values are strings.
  return typeof ids.get === "function" && typeof ids.has === "function";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
