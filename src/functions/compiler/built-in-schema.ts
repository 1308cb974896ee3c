import {
  type ObjectType,
  type Type,
  SymbolFlags,
  type TypeReference,
} from "typescript/unstable/sync";
import { typeKey } from "../../registry/schema/derived-values.ts";
import { Inexpressible } from "./inexpressible.ts";
import { arraySchema } from "./list-schema.ts";
import { isNominal } from "./object-schema.ts";
import type { PartReader, Spot } from "./part-reader.ts";
import type { SourceProgram } from "./program.ts";
import type { SchemaNode } from "./schema-node.ts";
import type { TypeHint } from "./type-hint.ts";

/**
 * The schema of a type of the language itself; undefined for one that is written out in the source.
 *
 * @throws Inexpressible for one that is not made of JSON
 */
export function builtInSchema(
  program: SourceProgram,
  reader: PartReader,
  type: ObjectType,
  hint: TypeHint | undefined,
  spot: Spot,
): SchemaNode | undefined {
  const name = builtInName(program, type);
  if (name === undefined) return undefined;
  const isIn = reader.direction === "in";
  if (name === "Date") {
    return { type: "string", format: "date-time", ...(isIn && { [typeKey]: "date" }) };
  }
  if (isIn && (name === "Uint8Array" || name === "Buffer")) {
    const mark = name === "Buffer" ? "buffer" : "bytes";
    return { type: "string", contentEncoding: "base64", [typeKey]: mark };
  }
  if (isIn && name === "ArrayLike") {
    return arraySchema(program, reader, type as TypeReference, hint, spot);
  }
  // What is also a value, as Map is, is made by its constructor, not of JSON.
  const flags = type.getSymbol()?.flags ?? 0;
  if (flags & (SymbolFlags.Value & ~SymbolFlags.Property) && isNominal(type)) {
    throw new Inexpressible("which JSON can't carry: take plain data instead");
  }
  return undefined;
}

function builtInName(program: SourceProgram, type: Type): string | undefined {
  const symbol = type.getSymbol();
  const declaration = symbol?.declarations[0]?.resolve();
  return declaration && program.isBuiltIn(declaration) ? symbol?.name : undefined;
}
