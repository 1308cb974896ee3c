import type { Node } from "typescript/unstable/ast";
import {
  type ObjectType,
  type Type,
  TypeFlags,
  type TypeReference,
} from "typescript/unstable/sync";
import type { JsonObject } from "../../domain/json.ts";
import { builtInSchema } from "./built-in-schema.ts";
import { type Doc, readDoc } from "./doc-comment.ts";
import { warnOfTags } from "./function-tags.ts";
import { Inexpressible, InexpressiblePart } from "./inexpressible.ts";
import { arraySchema, tupleSchema } from "./list-schema.ts";
import { objectSchema } from "./object-schema.ts";
import { OpenTypes } from "./open-types.ts";
import type { Direction, PartReader, Slot, Spot } from "./part-reader.ts";
import type { SourceProgram } from "./program.ts";
import { bigintNode, described, literalsOf, type SchemaNode, unionOf } from "./schema-node.ts";
import { applyTags, schemaTagNames } from "./schema-tags.ts";
import { templatePattern } from "./template-pattern.ts";
import { HintReader, type TypeHint } from "./type-hint.ts";

const maxNodes = 20_000;

/** Turns the types of one function into schemas. */
export class TypeReader implements PartReader {
  readonly #program: SourceProgram;
  readonly hints: HintReader;
  readonly direction: Direction;
  readonly #warn: (sentence: string) => void;
  readonly #open = new OpenTypes();
  #nodes = 0;

  /** @param warn takes a sentence for each doc tag that says nothing */
  constructor(program: SourceProgram, direction: Direction, warn: (sentence: string) => void) {
    this.#program = program;
    this.hints = new HintReader(program);
    this.direction = direction;
    this.#warn = warn;
  }

  /** The definitions that `$ref`s refer to. */
  get definitions(): JsonObject {
    return this.#open.definitions;
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

  /**
   * Reads the type of an item or of an index.
   *
   * @param path where the part stands
   * @param around the place of what it is part of
   */
  part(type: Type, hint: TypeHint | undefined, path: string, around: Spot): SchemaNode {
    return this.#open.deeper(() => this.read(type, { ...around, path }, hint));
  }

  /** Reads a type. @throws InexpressiblePart */
  read(type: Type, spot: Spot, hint?: TypeHint): SchemaNode {
    return this.slot(type, { description: "", tags: [] }, spot, hint).schema;
  }

  /** How a declaration writes its type. */
  hintAt(declaration: Node | undefined): TypeHint | undefined {
    return this.hints.at(declaration);
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
    const tagged = applyTags(schema, doc.tags, { $defs: this.definitions }, this.#warn);
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
    const unfolded = hint && this.hints.unfold(hint);
    const docs = unfolded ? [...unfolded.docs] : this.#aliasDocs(type);
    const at = unfolded?.hint;
    const [only, ...others] = this.hints.alternatives(at);
    let schema: SchemaNode;
    if (only && others.length === 0 && types.length > 0) {
      // `Sku | null`: what is said of Sku is said of the whole.
      schema = this.#named(type, types, only, spot);
    } else {
      schema = this.#guarded(type, spot, () =>
        types.length === 1 && types[0]
          ? this.#one(types[0], at, spot)
          : this.#recursiveUnion(type, types, at, spot),
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

  /** A union may contain itself by its objects and lists alone. */
  #recursiveUnion(
    type: Type,
    types: readonly Type[],
    hint: TypeHint | undefined,
    spot: Spot,
  ): SchemaNode {
    const isFlat = !types.some(({ flags }) => flags & (TypeFlags.Object | TypeFlags.Intersection));
    if (isFlat) return this.#union(types, hint, spot);
    return this.#open.around(type, () => this.#union(types, hint, spot));
  }

  #union(types: readonly Type[], hint: TypeHint | undefined, spot: Spot): SchemaNode {
    const nodes: SchemaNode[] = [];
    const literals: (string | number | boolean | null)[] = [];
    const wide: bigint[] = [];
    const written = this.hints
      .alternatives(hint)
      .map((one) => ({ one, id: this.hints.typeOf(one)?.id }));
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
    if (type.isErrorType())
      throw new Inexpressible("which the compiler can't resolve: import it, or install its types");
    if (flags & TypeFlags.AnyOrUnknown) return {};
    if (flags & TypeFlags.String) return { type: "string" };
    if (flags & TypeFlags.Number) return { type: "number" };
    if (flags & TypeFlags.BigInt) return this.#bigint();
    if (flags & TypeFlags.Null) return { type: "null" };
    if (flags & TypeFlags.Never) return { not: {} };
    if (flags & (TypeFlags.Undefined | TypeFlags.Void)) {
      if (this.direction === "in") return { not: {} };
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
    return this.direction === "out" ? { type: "integer" } : bigintNode(values);
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
    const reference = type as TypeReference;
    const isTuple =
      type.isTupleType() || (type.isTypeReference() && type.getTarget().isTupleType());
    if (isTuple || checker.isArrayType(type)) {
      const read = isTuple ? tupleSchema : arraySchema;
      return this.#open.around(type, () => read(this.#program, this, reference, hint, spot));
    }
    return builtInSchema(this.#program, this, type, hint, spot) ?? this.#object(type, hint, spot);
  }

  #object(type: Type, hint: TypeHint | undefined, spot: Spot): SchemaNode {
    return this.#open.around(type, () =>
      objectSchema(this.#program, this, type, this.hints.within(hint), spot),
    );
  }
}

/** The one primitive of `string & { __brand: "Sku" }`: the rest of it exists for the compiler alone. */
function brandedPrimitive(types: readonly Type[]): Type | undefined {
  const others = types.filter(({ flags }) => (flags & TypeFlags.Object) === 0);
  return others.length === 1 && others.length < types.length ? others[0] : undefined;
}

function shortened(text: string): string {
  const line = text.replace(/\s+/gu, " ");
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}
