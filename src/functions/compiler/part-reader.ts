import type { Node } from "typescript/unstable/ast";
import type { Type } from "typescript/unstable/sync";
import type { Doc } from "./doc-comment.ts";
import type { SchemaNode } from "./schema-node.ts";
import type { HintReader, TypeHint } from "./type-hint.ts";

/** Which way values go: to the function, or from it. */
export type Direction = "in" | "out";

/** A value's place, for texts. */
export interface Spot {
  /** `filter.tags[]`. */
  readonly path: string;
  readonly declaration: Node | undefined;
}

/** A property or a parameter: its schema, and whether it may be left out. */
export interface Slot {
  readonly schema: SchemaNode;
  readonly isOptional: boolean;
}

/** What reads the parts of a type, for what reads the whole. */
export interface PartReader {
  readonly direction: Direction;
  readonly hints: HintReader;
  /** Reads the type of a property, with the docs of its aliases and its own. */
  slot(type: Type, doc: Doc, spot: Spot, hint: TypeHint | undefined): Slot;
  /** Reads the type of an item or of an index, which stands at `path`. */
  part(type: Type, hint: TypeHint | undefined, path: string, around: Spot): SchemaNode;
  docOf(declaration: Node | undefined): Doc;
  documented(schema: SchemaNode, doc: Doc): SchemaNode;
}
