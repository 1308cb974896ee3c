import {
  isArrayTypeNode,
  isInterfaceDeclaration,
  isParenthesizedTypeNode,
  isTypeAliasDeclaration,
  isTypeOperatorNode,
  isTypeReferenceNode,
  isUnionTypeNode,
  type Node,
  type TypeNode,
  type TypeParameterDeclaration,
} from "typescript/unstable/ast";
import { type Symbol, SymbolFlags, type Type } from "typescript/unstable/sync";
import { type Doc, readDoc } from "./doc-comment.ts";
import type { SourceProgram } from "./program.ts";
import { schemaTagNames } from "./schema-tags.ts";

// A type forgets the names that it was written with: `Sku | null` with `type Sku = string` is
// `string | null`. What its author said at `Sku` is found by the way the type is written, which is
// followed beside the type, and used for docs alone.

/** How a type is written, and what its type parameters stand for there. */
export interface TypeHint {
  readonly node: TypeNode;
  readonly given: Given;
}

type Given = ReadonlyMap<number, TypeHint>;

const none: Given = new Map();
const maxSteps = 32;

/** Follows how types are written. */
export class HintReader {
  readonly #program: SourceProgram;

  constructor(program: SourceProgram) {
    this.#program = program;
  }

  /** The way that a declaration writes its type; `around` is that of the type that it is part of. */
  at(declaration: Node | undefined, around?: TypeHint): TypeHint | undefined {
    const { type } = (declaration ?? {}) as { readonly type?: TypeNode };
    return type && { node: type, given: around?.given ?? none };
  }

  /**
   * Takes the names off: the docs of every alias on the way, innermost first, and how what they stand
   * for is written.
   */
  unfold(hint: TypeHint): { readonly hint: TypeHint; readonly docs: readonly Doc[] } {
    const docs: Doc[] = [];
    let at = hint;
    for (let step = 0; step < maxSteps; step += 1) {
      const next = this.#step(at, docs);
      if (!next) break;
      at = next;
    }
    return { hint: at, docs: docs.toReversed() };
  }

  #step({ node, given }: TypeHint, docs: Doc[]): TypeHint | undefined {
    if (isParenthesizedTypeNode(node)) return { node: node.type, given };
    if (isTypeOperatorNode(node)) {
      return isArrayTypeNode(node.type) ? { node: node.type, given } : undefined;
    }
    if (!isTypeReferenceNode(node)) return undefined;
    const symbol = this.#symbolOf(node.typeName);
    if (!symbol) return undefined;
    const standing = given.get(symbol.id);
    if (standing) return standing;
    const alias = symbol.declarations[0]?.resolve();
    if (!alias || this.#program.isBuiltIn(alias)) return undefined;
    if (!isTypeAliasDeclaration(alias)) return undefined;
    docs.push(readDoc(this.#program, alias, schemaTagNames));
    return {
      node: alias.type,
      given: this.#given(alias.typeParameters, node.typeArguments, given),
    };
  }

  /** What the type parameters of an interface stand for, where it is written with arguments. */
  within(hint: TypeHint | undefined): TypeHint | undefined {
    if (!hint || !isTypeReferenceNode(hint.node)) return hint;
    const declaration = this.#symbolOf(hint.node.typeName)?.declarations[0]?.resolve();
    if (!declaration || !isInterfaceDeclaration(declaration)) return hint;
    const given = this.#given(declaration.typeParameters, hint.node.typeArguments, hint.given);
    return { node: hint.node, given };
  }

  /** How the elements of a list are written. */
  element(hint: TypeHint | undefined): TypeHint | undefined {
    if (!hint) return undefined;
    const { node, given } = hint;
    if (isArrayTypeNode(node)) return { node: node.elementType, given };
    return this.argument(hint, 0);
  }

  /** How a type argument is written. */
  argument(hint: TypeHint | undefined, index: number): TypeHint | undefined {
    if (!hint || !isTypeReferenceNode(hint.node)) return undefined;
    const node = hint.node.typeArguments?.[index];
    return node && { node, given: hint.given };
  }

  /** How the alternatives of a union are written; null and undefined are left out. */
  alternatives(hint: TypeHint | undefined): readonly TypeHint[] {
    if (!hint || !isUnionTypeNode(hint.node)) return [];
    const { given } = hint;
    return hint.node.types
      .map((node) => ({ node, given }))
      .filter(({ node }) => !/^(?:null|undefined)$/u.test(node.getText()));
  }

  /** The type that is written; undefined where that depends on type parameters. */
  typeOf(hint: TypeHint): Type | undefined {
    return this.#program.checker.getTypeFromTypeNode(hint.node);
  }

  #symbolOf(name: Node): Symbol | undefined {
    const symbol = this.#program.checker.getSymbolAtLocation(name);
    return symbol && this.#program.resolved(symbol);
  }

  #given(
    parameters: readonly TypeParameterDeclaration[] | undefined,
    args: readonly TypeNode[] | undefined,
    given: Given,
  ): Given {
    if (!parameters || !args) return none;
    const own = new Map<number, TypeHint>();
    parameters.forEach((parameter, index) => {
      const symbol = this.#symbolOf(parameter.name);
      const node = args[index];
      if (symbol && node && symbol.flags & SymbolFlags.TypeParameter) {
        own.set(symbol.id, { node, given });
      }
    });
    return own;
  }
}
