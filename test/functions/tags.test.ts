import test from "ava";
import { loadSource } from "./lib/source.ts";
import { inputOf, run } from "./lib/tool.ts";

const source = `
/** How to search. */
interface Filter {
  /** How many to give. @minimum 1 @maximum 50 @integer @default 10 */
  limit?: number;
  /**
   * The word to look for.
   * @pattern ^[a-z]+$
   * @maxLength 9
   */
  word: string;
  /** @minItems 1 @uniqueItems */
  tags?: string[];
  /** @default "new" @title The order */
  order?: "new" | "old";
  /** @format email @example "a@b.example" */
  mail?: string | null;
  /** @deprecated */
  old?: boolean;
}
/**
 * Finds orders.
 *
 * Reads \`@minimum\` as text, and someone@example.com too.
 *
 * @param filter What to look for.
 * @param filter.word The word itself.
 * @param page The page. @minimum 1 @default 1
 * @returns what it found
 * @category data
 * @safetyLevel restricted
 * @costUsd 0.5
 * @requires browser
 * @maxCallsPerInvocation 3
 * @scope internal
 * @routingMode enforce
 * @timeoutMs 1500
 * @maxTimeoutMs 3000
 * @concurrency 2
 * @largeResults spill
 * @idempotent
 * @readOnly
 * @destructive false
 * @openWorld
 * @example find({ word: "otter" })
 */
export function find(filter: Filter, page: number): string {
  return JSON.stringify([filter, page]);
}
/** Wipes the store. @hidden @destructive @param really Whether to. @default false */
export function wipe(really: boolean): boolean { return really; }
/**
 * Says what it means.
 * @deprecated use find
 */
export function say(): void {}
/**
 * Does it badly.
 * @minimum 3
 * @param nobody Is not there.
 * @param n A number. @minimum few @minLength 3
 * @timeoutMs soon
 * @frobnicate
 */
export function badly(n: number): number { return n; }`;

test("what a doc comment says of values is advertised, and holds", async (t) => {
  const { tool } = await loadSource(t, source, ["find", "wipe", "say", "badly"]);
  const find = tool("find");
  const { properties, required } = inputOf(find);
  t.deepEqual(required, ["filter"]);
  t.deepEqual(properties?.["page"], {
    type: "number",
    minimum: 1,
    default: 1,
    description: "The page.",
  });
  const filter = properties?.["filter"];
  t.is(filter?.description, "What to look for.");
  t.deepEqual(filter?.required, ["word"]);
  t.deepEqual(filter?.properties, {
    limit: {
      type: "integer",
      minimum: 1,
      maximum: 50,
      default: 10,
      description: "How many to give.",
    },
    word: {
      type: "string",
      pattern: "^[a-z]+$",
      maxLength: 9,
      description: "The word itself.",
    },
    tags: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
    order: { type: "string", enum: ["new", "old"], default: "new", title: "The order" },
    mail: {
      anyOf: [{ type: "string", format: "email" }, { type: "null" }],
      examples: ["a@b.example"],
    },
    old: { type: "boolean", deprecated: true },
  });
  t.is(
    await run(find, { filter: { word: "otter" } }),
    '[{"word":"otter","limit":10,"order":"new"},1]',
  );
  for (const [wrong, path] of [
    [{ word: "otter", limit: 51 }, "limit"],
    [{ word: "otter", limit: 1.5 }, "limit"],
    [{ word: "OTTER" }, "word"],
    [{ word: "otterotter" }, "word"],
    [{ word: "otter", tags: ["a", "a"] }, "tags"],
    [{ word: "otter", mail: "nobody" }, "mail"],
  ] as const) {
    await t.throwsAsync(run(find, { filter: wrong }), {
      message: new RegExp(`^filter\\.${path} must `, "u"),
    });
  }
});

test("what a doc comment says of the function is in its descriptor, also within one line", async (t) => {
  const { tool } = await loadSource(t, source, ["find", "wipe", "say", "badly"]);
  const { descriptor, limits } = tool("find");
  t.like(descriptor, {
    description:
      "Finds orders.\n\nReads `@minimum` as text, and someone@example.com too.\n\n" +
      'Example:\nfind({ word: "otter" })',
    summary: "Finds orders.",
    hidden: false,
    category: "data",
    safetyLevel: "restricted",
    costUsd: 0.5,
    requires: "browser",
    maxCallsPerInvocation: 3,
    scope: "internal",
    routingMode: "enforce",
    timeoutMs: 1500,
    idempotent: true,
    readOnly: true,
    destructive: false,
    openWorld: true,
    runAware: false,
  });
  t.like(limits, { maxTimeoutMs: 3000, concurrency: 2, largeResults: "spill", isolate: null });
  const wipe = tool("wipe");
  t.like(wipe.descriptor, { description: "Wipes the store.", hidden: true, destructive: true });
  t.deepEqual(inputOf(wipe).properties, {
    really: { type: "boolean", default: false, description: "Whether to." },
  });
  t.is(tool("say").descriptor.description, "Says what it means.\n\nDeprecated: use find");
});

test("a tag that says nothing is warned of with its file and line, and loses nothing else", async (t) => {
  const { port, tool } = await loadSource(t, source, ["find", "wipe", "say", "badly"]);
  const line = (text: string): number => source.slice(0, source.indexOf(text)).split("\n").length;
  const at = (text: string): string => `tool 'badly': tools.ts:${line(text) + 1}: `;
  t.deepEqual(
    port().warnings.toSorted(),
    [
      `${at("@param nobody")}@param nobody names no parameter that is advertised`,
      `${at("@minimum few")}@minLength says nothing about a type that is no string`,
      `${at("@minimum few")}@minimum takes a number, got "few"`,
      `${at("@timeoutMs soon")}@timeoutMs: timeoutMs is NaN, expected a whole number of milliseconds, 1 or more`,
      `${at("@minimum 3")}@minimum says something of a value: put it at a parameter or a property`,
      `${at("@frobnicate")}the tag @frobnicate is not known`,
    ].toSorted(),
  );
  t.deepEqual(inputOf(tool("badly")).properties, {
    n: { type: "number", description: "A number." },
  });
});
