import type { JsonObject, JsonValue } from "../domain/json.ts";

/** How deeply arrays and objects may nest. */
const maxDepth = 512;

/**
 * Reads JSON text strictly and without losing a digit: an integer beyond 2^53, written without
 * fraction and exponent, becomes a `bigint`.
 *
 * @throws SyntaxError in one sentence for text that is not JSON, for a member name given twice in
 *   one object, for a lone surrogate, and for nesting deeper than 512
 */
export function parseJson(text: string): JsonValue {
  // A run of sixteen digits is the shortest that can be an unsafe integer.
  const value: unknown = /\d{16}/u.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  // Each member that the text has and the value lacks was overwritten by one of the same name.
  if (countMembers(text) !== membersOf(value as JsonValue, 0)) {
    throw new SyntaxError(`the member name ${JSON.stringify(duplicateIn(text))} is given twice`);
  }
  if (!text.isWellFormed() || /\\u[dD][89a-fA-F]/u.test(text)) {
    refuseLoneSurrogates(value as JsonValue);
  }
  return value as JsonValue;
}

/**
 * The canonical form of JSON text: RFC 8785, but that numbers are exact decimals, so that `1`,
 * `1.0` and `1e0` are equal and nothing is rounded or expanded.
 *
 * @param text what {@link parseJson} takes
 */
export function canonicalJsonText(text: string): string {
  return new Canonicalizer(text).run();
}

/** The canonical form of a value by RFC 8785; bigints are written as their digits. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value as JsonObject)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(",")}}`;
  }
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value);
}

/**
 * Writes compact JSON as `JSON.stringify` does, with bigints as digits and what has no JSON form at
 * the top (undefined, a function, a symbol) as `null`.
 *
 * @throws whatever a cycle, a getter or a `toJSON` of the value throws
 */
export function stringifyJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch (error) {
    // The replacer costs several times the plain call, so it runs only where a bigint may be why.
    if (!(error instanceof TypeError)) throw error;
    text = JSON.stringify(value, bigintDigits) as string | undefined;
  }
  return text ?? "null";
}

// Not in TypeScript's library yet: ECMAScript 2026, "JSON.parse source text access".
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

function bigintDigits(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJson(value.toString()) : value;
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/u.test(source) ? BigInt(source) : value;
}

function refuseLoneSurrogates(value: JsonValue): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) {
      throw new SyntaxError(`the string ${JSON.stringify(value)} has a lone surrogate`);
    }
  } else if (Array.isArray(value)) {
    value.forEach(refuseLoneSurrogates);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value as JsonObject)) {
      refuseLoneSurrogates(key);
      refuseLoneSurrogates(member);
    }
  }
}

function membersOf(value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth === maxDepth) throw new SyntaxError(`arrays and objects nest deeper than ${maxDepth}`);
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += membersOf(item as JsonValue, depth + 1);
    return count;
  }
  for (const key of Object.keys(value)) {
    count += 1 + membersOf((value as JsonObject)[key] as JsonValue, depth + 1);
  }
  return count;
}

/** How many colons stand outside strings, in text that is known to be JSON. */
function countMembers(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (code === colon) count += 1;
  }
  return count;
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
}

function duplicateIn(text: string): string {
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{") open.push(new Set());
    else if (char === "[") open.push(null);
    else if (char === "}" || char === "]") open.pop();
    else if (char === '"') {
      const end = endOfString(text, at);
      const isKey =
        /^\s*:/u.test(text.slice(end, end + 64)) || text.slice(end).trimStart()[0] === ":";
      const keys = open.at(-1);
      if (isKey && keys) {
        const key = JSON.parse(text.slice(at, end)) as string;
        if (keys.has(key)) return key;
        keys.add(key);
      }
      at = end - 1;
    }
  }
  return "";
}

/** Walks text that is known to be JSON once, writing each value in canonical form. */
class Canonicalizer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): string {
    return this.#value(0);
  }

  #value(depth: number): string {
    if (depth > maxDepth) throw new SyntaxError(`arrays and objects nest deeper than ${maxDepth}`);
    const char = this.#peek();
    if (char === "{") return this.#object(depth);
    if (char === "[") return this.#array(depth);
    if (char === '"') return JSON.stringify(this.#string());
    const start = this.#at;
    while (this.#at < this.#text.length && !",]} \t\n\r".includes(this.#text[this.#at] ?? "")) {
      this.#at += 1;
    }
    const token = this.#text.slice(start, this.#at);
    return char === "t" || char === "f" || char === "n" ? token : exactDecimal(token);
  }

  #object(depth: number): string {
    const members: (readonly [string, string])[] = [];
    this.#at += 1;
    while (this.#peek() !== "}") {
      const key = this.#string();
      this.#peek();
      this.#at += 1;
      members.push([key, this.#value(depth + 1)]);
      if (this.#peek() === ",") this.#at += 1;
    }
    this.#at += 1;
    members.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
  }

  #array(depth: number): string {
    const items: string[] = [];
    this.#at += 1;
    while (this.#peek() !== "]") {
      items.push(this.#value(depth + 1));
      if (this.#peek() === ",") this.#at += 1;
    }
    this.#at += 1;
    return `[${items.join(",")}]`;
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at);
    const value = JSON.parse(this.#text.slice(this.#at, end)) as string;
    this.#at = end;
    return value;
  }

  #peek(): string | undefined {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
    return this.#text[this.#at];
  }
}

/** One spelling for every equal decimal: an integer as it is, else digits and a power of ten. */
function exactDecimal(token: string): string {
  if (/^(?:0|-?[1-9]\d*)$/u.test(token) && !token.endsWith("0")) return token;
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/u.exec(token);
  if (!match) return token;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const all = (whole + fraction).replace(/^0+/u, "");
  const digits = all.replace(/0+$/u, "");
  if (digits === "") return "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - digits.length);
  return power === 0n ? sign + digits : `${sign}${digits}e${power}`;
}
