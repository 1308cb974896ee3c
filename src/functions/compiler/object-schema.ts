import type { Node } from "typescript/unstable/ast";
import {
  ObjectFlags,
  SignatureKind,
  type Symbol,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";
import { Inexpressible } from "./inexpressible.ts";
import type { PartReader, Slot, Spot } from "./part-reader.ts";
import type { SourceProgram } from "./program.ts";
import { compact, type SchemaNode } from "./schema-node.ts";
import { templatePattern } from "./template-pattern.ts";
import type { TypeHint } from "./type-hint.ts";

/** A key that a number is written as. */
const numberKey = "^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\\.[0-9]*[1-9])$";

/** `CheckFlags.Mapped`, which the API has no name for. */
const mappedProperty = 262_144;

/**
 * The schema of a type that has members: an interface, a written-out or mapped type, an intersection.
 *
 * @throws Inexpressible, or InexpressiblePart for a part of it
 */
export function objectSchema(
  program: SourceProgram,
  reader: PartReader,
  type: Type,
  hint: TypeHint | undefined,
  spot: Spot,
): SchemaNode {
  return new MemberReader(program, reader).members(type, hint, spot);
}

/** Whether a type is known by a name of its own: an interface or a class. */
export function isNominal(type: Type): boolean {
  const flags = type.isObjectType() ? type.objectFlags : 0;
  return (flags & (ObjectFlags.ClassOrInterface | ObjectFlags.Reference)) !== 0;
}

class MemberReader {
  readonly #program: SourceProgram;
  readonly #reader: PartReader;

  constructor(program: SourceProgram, reader: PartReader) {
    this.#program = program;
    this.#reader = reader;
  }

  members(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const { checker } = this.#program;
    const symbol = type.getSymbol();
    if (symbol && symbol.flags & SymbolFlags.Class) {
      throw new Inexpressible("a class, which JSON can't carry: take an interface instead");
    }
    for (const kind of [SignatureKind.Call, SignatureKind.Construct]) {
      if (checker.getSignaturesOfType(type, kind).length > 0) {
        throw new Inexpressible("a function, which JSON can't carry");
      }
    }
    const properties: [string, SchemaNode][] = [];
    const required: string[] = [];
    const symbols = checker.getPropertiesOfType(type);
    const types = symbols.length > 0 ? checker.getTypeOfSymbol(symbols) : [];
    symbols.forEach((property, index) => {
      const own = types[index];
      if (!own) return;
      const { schema, isOptional } = this.#property(property, own, hint, spot);
      properties.push([property.name, schema]);
      if (!isOptional) required.push(property.name);
    });
    const rest = this.#indexed(type, hint, spot);
    const node = compact({
      type: "object",
      ...(properties.length > 0 || Object.keys(rest).length === 0
        ? { properties: objectOf(properties) }
        : {}),
      required: required.length > 0 ? required : undefined,
      ...rest,
    });
    const declaration = isNominal(type) ? symbol?.declarations[0]?.resolve() : undefined;
    return declaration ? this.#reader.documented(node, this.#reader.docOf(declaration)) : node;
  }

  #property(property: Symbol, type: Type, around: TypeHint | undefined, spot: Spot): Slot {
    if (property.name.startsWith("__@") || property.escapedName.startsWith("__@")) {
      throw new Inexpressible("which has a symbol for a key");
    }
    const declaration = (property.valueDeclaration ?? property.declarations[0])?.resolve();
    const path = spot.path === "" ? property.name : `${spot.path}.${property.name}`;
    const inner: Spot = { path, declaration: declaration ?? spot.declaration };
    const hint = this.#hintOf(property, type, declaration, around);
    const slot = this.#reader.slot(type, this.#reader.docOf(declaration), inner, hint);
    const isOptional = slot.isOptional || (property.flags & SymbolFlags.Optional) !== 0;
    return { schema: slot.schema, isOptional };
  }

  /** A mapped type keeps the declarations of what it maps, though it may have changed their types. */
  #hintOf(
    property: Symbol,
    type: Type,
    declaration: Node | undefined,
    around: TypeHint | undefined,
  ): TypeHint | undefined {
    const hint = this.#reader.hints.at(declaration, around);
    if (!hint || !(property.checkFlags & mappedProperty)) return hint;
    const written = this.#reader.hints.typeOf(hint);
    return written && presentIds(written) === presentIds(type) ? hint : undefined;
  }

  #indexed(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const patterns: [string, SchemaNode][] = [];
    let rest: SchemaNode | undefined;
    const { checker } = this.#program;
    for (const { keyType, valueType, declaration } of checker.getIndexInfosOfType(type)) {
      const { hints } = this.#reader;
      const own = hints.at(declaration?.resolve(), hint) ?? hints.argument(hint, 1);
      const value = this.#reader.part(valueType, own, `${spot.path}[key]`, spot);
      if (keyType.flags & TypeFlags.String) rest = value;
      else if (keyType.flags & TypeFlags.Number) patterns.push([numberKey, value]);
      else if (keyType.isTemplateLiteralType()) patterns.push([templatePattern(keyType), value]);
      else throw new Inexpressible("which has a symbol for a key");
    }
    return compact({
      patternProperties: patterns.length > 0 ? objectOf(patterns) : undefined,
      additionalProperties: rest,
    });
  }
}

/** Names a type's alternatives, those aside that a value lacks where it is not there. */
function presentIds(type: Type): string {
  const all = type.isUnionType() ? type.getTypes() : [type];
  const absent = TypeFlags.Undefined | TypeFlags.Void;
  const present = type.isUnionType() ? all.filter(({ flags }) => !(flags & absent)) : all;
  return present.map(({ id }) => id).join();
}

/** An object that may have any key, `__proto__` too. */
function objectOf(entries: readonly (readonly [string, SchemaNode])[]): SchemaNode {
  const object: SchemaNode = {};
  for (const [key, value] of entries) {
    const property = { value, configurable: true, enumerable: true, writable: true };
    Object.defineProperty(object, key, property);
  }
  return object;
}
