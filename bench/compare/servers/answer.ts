import type { AddressInfo } from "node:net";

const pageBytes = 64 * 1024;
const padding = "x".repeat(pageBytes);

/** A call as the servers of this folder get it. */
export interface Asked {
  readonly callId: string;
  readonly name: string;
  /** JSON: an object with the numbers `a` and `b`. */
  readonly argumentsJson: string;
}

/** What the contract's `ToolCall` says of it. */
export interface Answered {
  readonly id: string;
  readonly name: string;
  readonly argumentsJson: string;
  readonly result: string;
}

/** What `add` and `page` answer: some 60 bytes, or 64 KiB. */
export function textOf(name: string, { a, b }: { a: number; b: number }): string {
  const text = `${a} and ${b} make ${a + b}, which is the sum of the two numbers.`;
  return name === "page" ? text + padding.slice(text.length) : text;
}

/** Answers a call as simply as can be: nothing is checked, nothing can fail. */
export function answerTo({ callId, name, argumentsJson }: Asked): Answered {
  const numbers = JSON.parse(argumentsJson) as { a: number; b: number };
  return { id: callId, name, argumentsJson, result: textOf(name, numbers) };
}

/** Says where a server listens, as `toolport serve` does. */
export function announce(bound: AddressInfo | string | null): void {
  if (bound === null || typeof bound === "string") throw new TypeError("it does not listen on TCP");
  console.log(JSON.stringify({ address: `127.0.0.1:${bound.port}` }));
}
