import { isVariableDeclaration, type Node } from "typescript/unstable/ast";
import type { SourceProgram } from "./program.ts";

/** A tag of a doc comment. */
export interface DocTag {
  readonly name: string;
  /** What follows it, up to the next tag, trimmed. */
  readonly text: string;
  /** `tools.ts:12`. */
  readonly place: string;
  /** Whether other text of the same line goes before it. */
  readonly isInline: boolean;
}

/** A doc comment, read. */
export interface Doc {
  /** The text before the first tag, trimmed. */
  readonly description: string;
  readonly tags: readonly DocTag[];
}

const nothing: Doc = Object.freeze({ description: "", tags: [] });

/**
 * Reads the doc comment of a declaration; an empty one where it has none.
 *
 * @param inlineTags names that are tags also after other text of their line; any name is one at the
 *   start of a line
 */
export function readDoc(
  program: SourceProgram,
  declaration: Node,
  inlineTags: ReadonlySet<string>,
): Doc {
  const node = isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const source = node.getSourceFile();
  const trivia = source.text.slice(node.pos, node.getStart());
  const found = lastDocComment(trivia);
  if (!found) return nothing;
  return parseDoc(found.text, inlineTags, (offset) =>
    program.placeAt(source, node.pos + found.at + offset),
  );
}

/** The last comment that opens with two stars, of those between two tokens. */
function lastDocComment(
  trivia: string,
): { readonly text: string; readonly at: number } | undefined {
  let found: { text: string; at: number } | undefined;
  for (const match of trivia.matchAll(/\/\/[^\n]*|\/\*[\s\S]*?\*\//gu)) {
    const [text] = match;
    if (text.startsWith("/**") && text !== "/**/") found = { text, at: match.index };
  }
  return found;
}

/** @param placeOf the place of an offset in the comment */
function parseDoc(
  comment: string,
  inlineTags: ReadonlySet<string>,
  placeOf: (offset: number) => string,
): Doc {
  const parts: { name: string; lines: string[]; place: string; isInline: boolean }[] = [];
  const description: string[] = [];
  let offset = 0;
  let isFenced = false;
  for (const raw of comment.split("\n")) {
    const start = offset;
    offset += raw.length + 1;
    const line = raw
      .replace(/^\s*\/\*\*/u, "")
      .replace(/\*\/\s*$/u, "")
      .replace(/^\s*\* ?/u, "")
      .trimEnd();
    if (/^\s*(?:```|~~~)/u.test(line)) isFenced = !isFenced;
    for (const { name, text, isInline } of isFenced ? [plain(line)] : splitLine(line, inlineTags)) {
      if (name !== undefined) {
        parts.push({ name, lines: [text], place: placeOf(start), isInline });
      } else {
        (parts.at(-1)?.lines ?? description).push(text);
      }
    }
  }
  return {
    description: joined(description),
    tags: parts.map(({ name, lines, place, isInline }) => ({
      name,
      text: joined(lines),
      place,
      isInline,
    })),
  };
}

interface Piece {
  readonly name: string | undefined;
  readonly text: string;
  readonly isInline: boolean;
}

function plain(text: string): Piece {
  return { name: undefined, text, isInline: false };
}

/** Cuts a line at its tags. What stands in backticks is text. */
function splitLine(line: string, inlineTags: ReadonlySet<string>): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let open: { name: string | undefined; isInline: boolean } = { name: undefined, isInline: false };
  for (const match of line.matchAll(/`[^`]*`|(?<=^|\s)@([A-Za-z][\w-]*)/gu)) {
    const [whole, name] = match;
    if (name === undefined) continue;
    const isFirst = line.slice(0, match.index).trim() === "";
    if (!isFirst && !inlineTags.has(name)) continue;
    if (!isFirst || open.name !== undefined) {
      pieces.push({ ...open, text: line.slice(from, match.index).trimEnd() });
    }
    open = { name, isInline: !isFirst };
    from = match.index + whole.length;
  }
  pieces.push({ ...open, text: line.slice(from) });
  return pieces;
}

function joined(lines: readonly string[]): string {
  return lines
    .join("\n")
    .replace(
      /\{@(?:link|linkcode|linkplain)\s+([^}\s|]+)(?:[\s|]+([^}]+))?\}/gu,
      (_all, to, text) => String(text ?? to).trim(),
    )
    .trim();
}
