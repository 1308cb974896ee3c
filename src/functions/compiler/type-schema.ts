import type { Node } from "typescript/unstable/ast";
import {
  ElementFlags,
  ObjectFlags,
  type ObjectType,
  SignatureKind,
  type Symbol,
  SymbolFlags,
  type TupleType,
  type Type,
  TypeFlags,
  type TypeReference,
} from "typescript/unstable/sync";
import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { typeKey } from "../../registry/schema/derived-values.ts";
import { type Doc, readDoc } from "./doc-comment.ts";
import { warnOfTags } from "./function-tags.ts";
import type { SourceProgram } from "./program.ts";
import {
  bigintNode,
  compact,
  described,
  Inexpressible,
  literalsOf,
  rootOf,
  type SchemaNode,
  unionOf,
} from "./schema-node.ts";
import { applyTags, schemaTagNames } from "./schema-tags.ts";
import { templatePattern } from "./template-pattern.ts";
import { HintReader, type TypeHint } from "./type-hint.ts";

/** Which way values go: to the function, or from it. */
export type Direction = "in" | "out";

/** A part of a type that can't be a schema, with where it stands. */
export class InexpressiblePart extends Error {
  /** `tools.ts:12`; undefined where it has no declaration of its own. */
  readonly place: string | undefined;
  /** `filter.tags[]`. */
  readonly path: string;
  /** `has the type Map<string, number>, which …`. */
  readonly what: string;

  constructor(place: string | undefined, path: string, what: string) {
    super(`${path} ${what}`);
    this.name = "InexpressiblePart";
    this.place = place;
    this.path = path;
    this.what = what;
  }
}

/** A value's place, for texts. */
interface Spot {
  readonly path: string;
  readonly declaration: Node | undefined;
}

/** A property or a parameter: its schema, and whether it may be left out. */
export interface Slot {
  readonly schema: SchemaNode;
  readonly isOptional: boolean;
}

const maxDepth = 40;
const maxNodes = 20_000;

/** Turns the types of one function into schemas. */
export class TypeReader {
  readonly #program: SourceProgram;
  readonly #hints: HintReader;
  readonly #direction: Direction;
  readonly #warn: (sentence: string) => void;
  readonly #definitions = new Map<string, JsonValue>();
  /** The types around the one that is read, and the name of each that refers to itself. */
  readonly #open = new Map<number, { name: string | undefined }>();
  #nodes = 0;

  /** @param warn takes a sentence for each doc tag that says nothing */
  constructor(program: SourceProgram, direction: Direction, warn: (sentence: string) => void) {
    this.#program = program;
    this.#hints = new HintReader(program);
    this.#direction = direction;
    this.#warn = warn;
  }

  /** The definitions that `$ref`s refer to. */
  get definitions(): JsonObject {
    return Object.fromEntries(this.#definitions);
  }

  /**
   * Reads the type of a property or parameter, with the docs of its aliases and its own.
   *
   * @throws InexpressiblePart
   */
  slot(type: Type, doc: Doc, spot: Spot, hint: TypeHint | undefined): Slot {
    const present = this.#present(type);
    const bare = this.#named(present.type, present.types, hint, spot);
    const schema = this.documented(bare, doc);
    return { schema, isOptional: present.isPartial || schema["default"] !== undefined };
  }

  /** Reads a type. @throws InexpressiblePart */
  read(type: Type, spot: Spot, hint?: TypeHint): SchemaNode {
    return this.slot(type, { description: "", tags: [] }, spot, hint).schema;
  }

  /** How a declaration writes its type. */
  hintAt(declaration: Node | undefined): TypeHint | undefined {
    return this.#hints.at(declaration);
  }

  /** The doc comment of a value's declaration. Warns of tags that are not for values. */
  docOf(declaration: Node | undefined): Doc {
    if (!declaration || this.#program.isBuiltIn(declaration)) return { description: "", tags: [] };
    const doc = readDoc(this.#program, declaration, schemaTagNames);
    warnOfTags(doc.tags, false, this.#warn);
    return doc;
  }

  /** A schema with what a doc comment says of it. */
  documented(schema: SchemaNode, doc: Doc): SchemaNode {
    const tagged = applyTags(schema, doc.tags, rootOf(this.#definitions), this.#warn);
    return described(tagged, doc.description);
  }

  /** A type without undefined: a value of it that is not there is left out. */
  #present(type: Type): { type: Type; types: readonly Type[]; isPartial: boolean } {
    const absent = TypeFlags.Undefined | TypeFlags.Void;
    if (!type.isUnionType()) {
      return { type, types: [type], isPartial: (type.flags & absent) !== 0 };
    }
    const all = type.getTypes();
    const types = all.filter(({ flags }) => !(flags & absent));
    return { type, types, isPartial: types.length < all.length };
  }

  /** A type as it is written: the docs of its names go with it. */
  #named(type: Type, types: readonly Type[], hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const unfolded = hint && this.#hints.unfold(hint);
    const docs = unfolded ? [...unfolded.docs] : this.#aliasDocs(type);
    const at = unfolded?.hint;
    const [only, ...others] = this.#hints.alternatives(at);
    let schema: SchemaNode;
    if (only && others.length === 0 && types.length > 0) {
      // `Sku | null`: what is said of Sku is said of the whole.
      schema = this.#named(type, types, only, spot);
    } else {
      schema = this.#guarded(type, spot, () =>
        types.length === 1 && types[0]
          ? this.#one(types[0], at, spot)
          : this.#union(types, at, spot),
      );
    }
    for (const doc of docs) schema = this.documented(schema, doc);
    return schema;
  }

  #aliasDocs(type: Type): readonly Doc[] {
    const alias = type.getAliasSymbol()?.declarations[0]?.resolve();
    return alias ? [this.docOf(alias)] : [];
  }

  /** Names the type in what is thrown, unless a part of it was named already. */
  #guarded(type: Type, spot: Spot, read: () => SchemaNode): SchemaNode {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Inexpressible)) throw error;
      const { declaration, path } = spot;
      const place = declaration && this.#program.place(declaration);
      const text = shortened(this.#program.checker.typeToString(type));
      throw new InexpressiblePart(place, shortened(path), `has the type ${text}, ${error.why}`);
    }
  }

  #union(types: readonly Type[], hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const nodes: SchemaNode[] = [];
    const literals: (string | number | boolean | null)[] = [];
    const wide: bigint[] = [];
    const written = this.#hints
      .alternatives(hint)
      .map((one) => ({ one, id: this.#hints.typeOf(one)?.id }));
    const booleans = types.filter(({ flags }) => flags & TypeFlags.BooleanLiteral).length;
    for (const type of types) {
      if (type.flags & TypeFlags.BooleanLiteral && booleans === 2) {
        if (!nodes.some((node) => node["type"] === "boolean")) nodes.push({ type: "boolean" });
      } else if (type.isBigIntLiteralType()) wide.push(BigInt(type.value));
      else if (type.isLiteralType()) literals.push(this.#literal(type.value));
      else {
        const own = written.find(({ id }) => id === type.id)?.one;
        nodes.push(this.#named(type, [type], own, spot));
      }
    }
    if (literals.length > 0) nodes.unshift(literalsOf(literals));
    if (wide.length > 0) nodes.push(this.#bigint(wide));
    return unionOf(nodes);
  }

  #one(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    this.#nodes += 1;
    if (this.#nodes > maxNodes) throw new Inexpressible("which is too large to be advertised");
    const { flags } = type;
    if (type.isErrorType()) throw new Inexpressible("which the compiler can't resolve");
    if (flags & TypeFlags.AnyOrUnknown) return {};
    if (flags & TypeFlags.String) return { type: "string" };
    if (flags & TypeFlags.Number) return { type: "number" };
    if (flags & TypeFlags.BigInt) return this.#bigint();
    if (flags & TypeFlags.Null) return { type: "null" };
    if (flags & TypeFlags.Never) return { not: {} };
    if (flags & (TypeFlags.Undefined | TypeFlags.Void)) {
      if (this.#direction === "in") return { not: {} };
      throw new Inexpressible("which has no value");
    }
    if (flags & TypeFlags.NonPrimitive) return { type: ["object", "array"] };
    if (type.isBigIntLiteralType()) return this.#bigint([BigInt(type.value)]);
    if (type.isLiteralType()) return literalsOf([this.#literal(type.value)]);
    if (type.isTemplateLiteralType()) return { type: "string", pattern: templatePattern(type) };
    if (flags & TypeFlags.Boolean) return { type: "boolean" };
    if (type.isUnionType()) return this.#union(type.getTypes(), hint, spot);
    if (flags & TypeFlags.StringMapping) {
      throw new Inexpressible("whose letters' case no schema can ask for");
    }
    if (flags & TypeFlags.Instantiable) return this.#constraint(type, spot);
    if (type.isIntersectionType()) {
      const brand = brandedPrimitive(type.getTypes());
      if (brand) return this.#one(brand, hint, spot);
      return this.#object(type, hint, spot);
    }
    if (type.isObjectType()) return this.#structure(type, hint, spot);
    throw new Inexpressible("which JSON can't carry");
  }

  #bigint(values?: readonly bigint[]): SchemaNode {
    // A result's bigint is written as digits.
    return this.#direction === "out" ? { type: "integer" } : bigintNode(values);
  }

  #literal(value: string | number | boolean | bigint): string | number | boolean {
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) {
      throw new Inexpressible("which JSON can't carry");
    }
    return value;
  }

  /** A type parameter stands for its constraint; without one it could be anything. */
  #constraint(type: Type, spot: Spot): SchemaNode {
    const constraint = this.#program.checker.getBaseConstraintOfType(type);
    const says = constraint && !(constraint.flags & TypeFlags.AnyOrUnknown);
    if (!says || constraint.id === type.id) {
      throw new Inexpressible("which is generic: write out a type, or constrain it");
    }
    return this.read(constraint, spot);
  }

  #structure(type: ObjectType, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const { checker } = this.#program;
    if (type.isTupleType() || (type.isTypeReference() && type.getTarget().isTupleType())) {
      return this.#tuple(type, hint, spot);
    }
    if (checker.isArrayType(type)) {
      const [item] = checker.getTypeArguments(type as TypeReference);
      if (!item) return { type: "array" };
      const items = this.#item(item, this.#hints.element(hint), `${spot.path}[]`, spot);
      return { type: "array", items };
    }
    return this.#builtIn(type) ?? this.#object(type, hint, spot);
  }

  #item(type: Type, hint: TypeHint | undefined, path: string, spot: Spot): SchemaNode {
    return this.#descend(() => this.read(type, { ...spot, path }, hint));
  }

  #tuple(type: TypeReference, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const target = type.getTarget() as TupleType;
    const types = this.#program.checker.getTypeArguments(type);
    const written = (hint?.node as { elements?: readonly Node[] } | undefined)?.elements;
    const prefix: SchemaNode[] = [];
    let least = 0;
    let rest: SchemaNode | undefined;
    target.elementFlags.forEach((kind, index) => {
      const element = types[index];
      if (!element) return;
      if (rest || kind & ElementFlags.Variadic) {
        throw new Inexpressible("whose open part is not its last: JSON Schema has no word for it");
      }
      const own = this.#elementHint(written?.[index], hint);
      const node = this.#item(element, own, `${spot.path}[${index}]`, spot);
      if (kind & ElementFlags.Rest) rest = node;
      else {
        prefix.push(node);
        if (kind & ElementFlags.Required) least = prefix.length;
      }
    });
    return compact({
      type: "array",
      prefixItems: prefix.length > 0 ? prefix : undefined,
      minItems: least > 0 ? least : undefined,
      ...(rest ? { items: rest } : { maxItems: prefix.length }),
    });
  }

  #elementHint(node: Node | undefined, around: TypeHint | undefined): TypeHint | undefined {
    // `name: T`, `T?` and `...T[]` hold the type that is meant.
    const inner = (node as { type?: Node } | undefined)?.type ?? node;
    return inner && around ? { ...around, node: inner as TypeHint["node"] } : undefined;
  }

  /** A type of the language itself; undefined for one that is written out in the source. */
  #builtIn(type: ObjectType): SchemaNode | undefined {
    const symbol = type.getSymbol();
    const declaration = symbol?.declarations[0]?.resolve();
    if (!symbol || !declaration || !this.#program.isBuiltIn(declaration)) return undefined;
    const isIn = this.#direction === "in";
    if (symbol.name === "Date") {
      return { type: "string", format: "date-time", ...(isIn && { [typeKey]: "date" }) };
    }
    if (isIn && (symbol.name === "Uint8Array" || symbol.name === "Buffer")) {
      const mark = symbol.name === "Buffer" ? "buffer" : "bytes";
      return { type: "string", contentEncoding: "base64", [typeKey]: mark };
    }
    // What is also a value, as Map is, is made by its constructor, not of JSON.
    if (symbol.flags & (SymbolFlags.Value & ~SymbolFlags.Property) && isNominal(type)) {
      throw new Inexpressible("which JSON can't carry: take plain data instead");
    }
    return undefined;
  }

  #object(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const open = this.#open.get(type.id);
    if (open) {
      open.name ??= this.#definitionName(type);
      return { $ref: `#/$defs/${open.name}` };
    }
    const entry: { name: string | undefined } = { name: undefined };
    this.#open.set(type.id, entry);
    try {
      const schema = this.#descend(() => this.#members(type, this.#hints.within(hint), spot));
      if (entry.name === undefined) return schema;
      this.#definitions.set(entry.name, schema);
      return { $ref: `#/$defs/${entry.name}` };
    } finally {
      this.#open.delete(type.id);
    }
  }

  #descend(read: () => SchemaNode): SchemaNode {
    this.#depth += 1;
    try {
      if (this.#depth > maxDepth) throw new Inexpressible("which goes on without end");
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  #depth = 0;

  #members(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
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
    return declaration ? this.documented(node, this.docOf(declaration)) : node;
  }

  #property(property: Symbol, type: Type, around: TypeHint | undefined, spot: Spot): Slot {
    if (property.name.startsWith("__@") || property.escapedName.startsWith("__@")) {
      throw new Inexpressible("which has a symbol for a key");
    }
    const declaration = (property.valueDeclaration ?? property.declarations[0])?.resolve();
    const path = spot.path === "" ? property.name : `${spot.path}.${property.name}`;
    const inner: Spot = { path, declaration: declaration ?? spot.declaration };
    const hint = this.#trusted(property, type, this.#hints.at(declaration, around));
    const slot = this.slot(type, this.docOf(declaration), inner, hint);
    const isOptional = slot.isOptional || (property.flags & SymbolFlags.Optional) !== 0;
    return { schema: slot.schema, isOptional };
  }

  /** A mapped type keeps the declarations of what it maps, though it may have changed their types. */
  #trusted(property: Symbol, type: Type, hint: TypeHint | undefined): TypeHint | undefined {
    if (!hint || !(property.checkFlags & mappedProperty)) return hint;
    const written = this.#hints.typeOf(hint);
    const ids = (one: Type): string =>
      this.#present(one)
        .types.map(({ id }) => id)
        .join();
    return written && ids(written) === ids(type) ? hint : undefined;
  }

  #indexed(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const patterns: [string, SchemaNode][] = [];
    let rest: SchemaNode | undefined;
    for (const { keyType, valueType, declaration } of this.#program.checker.getIndexInfosOfType(
      type,
    )) {
      const node = declaration?.resolve();
      const own = this.#hints.at(node, hint) ?? this.#hints.argument(hint, 1);
      const value = this.#item(valueType, own, `${spot.path}[key]`, spot);
      if (keyType.flags & TypeFlags.String) rest = value;
      else if (keyType.flags & TypeFlags.Number) {
        patterns.push([numberKey, value]);
      } else if (keyType.isTemplateLiteralType()) patterns.push([templatePattern(keyType), value]);
      else throw new Inexpressible("which has a symbol for a key");
    }
    return compact({
      patternProperties: patterns.length > 0 ? objectOf(patterns) : undefined,
      additionalProperties: rest,
    });
  }

  #definitionName(type: Type): string {
    const named = type.getAliasSymbol()?.name ?? type.getSymbol()?.name ?? "";
    const base = /^[A-Za-z]\w*$/u.test(named) ? named : "Type";
    const taken = new Set([
      ...this.#definitions.keys(),
      ...[...this.#open.values()].map(({ name }) => name),
    ]);
    let name = base;
    for (let count = 2; taken.has(name); count += 1) name = `${base}${count}`;
    return name;
  }
}

/** A key that a number is written as. */
const numberKey = "^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\\.[0-9]*[1-9])$";

/** `CheckFlags.Mapped`, which the API has no name for. */
const mappedProperty = 262_144;

function isNominal(type: Type): boolean {
  const flags = type.isObjectType() ? type.objectFlags : 0;
  return (flags & (ObjectFlags.ClassOrInterface | ObjectFlags.Reference)) !== 0;
}

/** The one primitive of `string & { __brand: "Sku" }`: the rest of it exists for the compiler alone. */
function brandedPrimitive(types: readonly Type[]): Type | undefined {
  const others = types.filter(({ flags }) => (flags & TypeFlags.Object) === 0);
  return others.length === 1 && others.length < types.length ? others[0] : undefined;
}

function objectOf(entries: readonly (readonly [string, SchemaNode])[]): SchemaNode {
  const object: SchemaNode = {};
  for (const [key, value] of entries) {
    Object.defineProperty(object, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return object;
}

function shortened(text: string): string {
  const line = text.replace(/\s+/gu, " ");
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}
