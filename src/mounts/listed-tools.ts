import type { JsonObject, JsonValue } from "../domain/json.ts";
import { canonicalJson } from "../internal/json-text.ts";
import { pythonRepr } from "../internal/python-text.ts";
import { readParameters } from "../registry/schema/argument-schema.ts";
import type { ToolTraits } from "../registry/tool-options.ts";

/** How many pages a server's list may have. */
const maxPages = 1000;
/** How many tools a server may list. */
const maxTools = 10_000;

/** A tool as a server lists it, read: plain data, which can cross to another thread. */
export interface ListedTool {
  /** In the set, its prefix included. */
  readonly name: string;
  /** On the server. */
  readonly remoteName: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | null;
  readonly traits: Pick<ToolTraits, "readOnly" | "destructive" | "openWorld" | "idempotent">;
}

/** What a server lists, read. */
export interface ReadTools {
  readonly tools: readonly ListedTool[];
  /** One sentence each, without naming the server. */
  readonly warnings: readonly string[];
}

/** All that a server lists, as it came. */
export interface ListedPages {
  readonly tools: readonly JsonValue[];
  readonly warnings: readonly string[];
}

/**
 * Walks all pages of a server's list. One without tools does not end it; a cursor that comes a second
 * time does, since everything behind it has been seen.
 *
 * @param page asks for a page; undefined where the server has none
 * @throws Error completing "the server …" for a list that does not end
 */
export async function listAllPages(
  page: (cursor: string | undefined) => Promise<JsonObject | undefined>,
): Promise<ListedPages> {
  const tools: JsonValue[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let count = 0; count < maxPages; count += 1) {
    const result = await page(cursor);
    if (result === undefined) return { tools, warnings: ["it knows no tools/list"] };
    const { tools: listed, nextCursor } = result;
    if (!Array.isArray(listed)) throw new Error("answered tools/list without a list of tools");
    tools.push(...(listed as readonly JsonValue[]));
    if (tools.length > maxTools) throw new Error(`lists more than ${maxTools} tools`);
    if (typeof nextCursor !== "string" || nextCursor === "") return { tools, warnings: [] };
    if (seen.has(nextCursor)) {
      const warning = `its list of tools has no end: the cursor ${JSON.stringify(nextCursor)} came twice`;
      return { tools, warnings: [warning] };
    }
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  throw new Error(`lists its tools on more than ${maxPages} pages`);
}

/** Reads what a server lists. A tool without a usable name is left out, with a warning. */
export function readListedTools(listed: readonly JsonValue[], prefix: string): ReadTools {
  const warnings: string[] = [];
  const tools = listed.flatMap((entry, index) => {
    const fields = asObject(entry);
    const remoteName = fields?.["name"];
    if (!fields || typeof remoteName !== "string" || !isUsable(remoteName)) {
      warnings.push(`the tool at position ${index} of its list has no usable name and is left out`);
      return [];
    }
    const name = `${prefix}${remoteName}`;
    const warn = (warning: string): unknown =>
      warnings.push(`tool ${pythonRepr(name)}: ${warning}`);
    return [
      {
        name,
        remoteName,
        description: descriptionOf(fields),
        inputSchema: readInput(fields["inputSchema"], warn),
        outputSchema: readOutput(fields["outputSchema"], warn),
        traits: traitsOf(asObject(fields["annotations"])),
      },
    ];
  });
  return { tools, warnings };
}

/** How what a server lists now differs from what it listed when the set was built, by its names. */
export interface ListChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** Compares two lists. */
export function compareLists(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): ListChanges {
  const old = byName(before);
  const now = byName(after);
  const names = [...now.keys()];
  return {
    added: names.filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: names.filter((name) => old.has(name) && old.get(name) !== now.get(name)),
  };
}

const open: JsonObject = Object.freeze({ type: "object", additionalProperties: true });

function readInput(given: JsonValue | undefined, warn: (warning: string) => unknown): JsonObject {
  const schema = asObject(given);
  try {
    if (!schema) throw new Error("it is no object");
    readParameters(schema);
    return schema;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warn(`its arguments are not checked, since its schema can't be read: ${why}`);
    return open;
  }
}

function readOutput(
  given: JsonValue | undefined,
  warn: (warning: string) => unknown,
): JsonObject | null {
  if (given === undefined || given === null) return null;
  const schema = asObject(given);
  if (!schema) warn("its output schema is left out, since it is no object");
  return schema ?? null;
}

function descriptionOf({ description, title }: JsonObject): string {
  const text = typeof description === "string" && description !== "" ? description : title;
  return typeof text === "string" ? text.toWellFormed() : "";
}

/** What the server says of the tool; what it leaves open stays so. */
function traitsOf(annotations: JsonObject | undefined): ListedTool["traits"] {
  const hint = (name: string): boolean | undefined => {
    const value = annotations?.[name];
    return typeof value === "boolean" ? value : undefined;
  };
  return {
    readOnly: hint("readOnlyHint"),
    destructive: hint("destructiveHint"),
    openWorld: hint("openWorldHint"),
    idempotent: hint("idempotentHint"),
  };
}

function byName(listed: readonly JsonValue[]): ReadonlyMap<string, string> {
  return new Map(
    listed.flatMap((entry) => {
      const fields = asObject(entry);
      const name = fields?.["name"];
      return fields && typeof name === "string" ? [[name, canonicalJson(fields)] as const] : [];
    }),
  );
}

function isUsable(name: string): boolean {
  return name !== "" && name.isWellFormed();
}

function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}
