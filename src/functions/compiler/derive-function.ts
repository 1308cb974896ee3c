import type { Node } from "typescript/unstable/ast";
import {
  type Signature,
  SignatureKind,
  type Symbol,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";
import type { JsonSchema } from "../../domain/json.ts";
import type { FunctionDescription } from "../../registry/plain-function.ts";
import type { DerivedFunction, FunctionSite } from "../protocol.ts";
import { readDoc } from "./doc-comment.ts";
import { FunctionDoc, functionInlineTags } from "./function-doc.ts";
import { readTraitTags, warnOfTags } from "./function-tags.ts";
import { InexpressiblePart } from "./inexpressible.ts";
import { readParameters } from "./parameters.ts";
import type { SourceProgram } from "./program.ts";
import type { SchemaNode } from "./schema-node.ts";
import { TypeReader } from "./type-schema.ts";

/** Describes one function, or says why that can't be done. */
export function deriveFunction(program: SourceProgram, site: FunctionSite): DerivedFunction {
  const symbol = program.exported(site.file, site.exportName);
  const declaration = (symbol?.valueDeclaration ?? symbol?.declarations[0])?.resolve();
  if (!symbol || !declaration) {
    const refused = `${program.shown(site.file)}: it has no export ${site.exportName} that the compiler sees`;
    return { refused };
  }
  const name = site.exportName === "default" ? symbol.name : site.exportName;
  try {
    return { description: describe(program, symbol, declaration, name) };
  } catch (error) {
    if (!(error instanceof InexpressiblePart)) throw error;
    const place = error.place ?? program.place(declaration);
    return { refused: `${place}: ${named(error, name)}` };
  }
}

function named({ path, what }: InexpressiblePart, name: string): string {
  return path === "" ? `${name} ${what}` : `${path} of ${name} ${what}`;
}

function describe(
  program: SourceProgram,
  symbol: Symbol,
  declaration: Node,
  name: string,
): FunctionDescription {
  const warnings: string[] = [];
  const warn = (sentence: string): void => {
    if (!warnings.includes(sentence)) warnings.push(sentence);
  };
  const signature = signatureOf(program, symbol, declaration);
  const read = readDoc(program, declaration, functionInlineTags);
  const doc = new FunctionDoc(read, warn);
  if (read.description === "") {
    throw refusal(program, declaration, "has no doc comment: write /** what it does */ before it");
  }
  warnOfTags(doc.tags, true, warn);
  const traits = readTraitTags(doc.tags, warn);
  const reader = new TypeReader(program, "in", warn);
  const { schema, passed } = readParameters(program, reader, signature, doc);
  return {
    name,
    description: doc.description,
    parameters: withDefinitions(schema, reader),
    output: readResult(program, signature, declaration),
    traits,
    passed,
    warnings,
  };
}

function signatureOf(program: SourceProgram, symbol: Symbol, declaration: Node): Signature {
  const { checker } = program;
  if (symbol.flags & SymbolFlags.Class) {
    throw refusal(program, declaration, "is a class: export a function that uses it");
  }
  const type = checker.getTypeOfSymbol(symbol);
  const signatures = type ? checker.getSignaturesOfType(type, SignatureKind.Call) : [];
  const [signature, ...others] = signatures;
  if (!signature) {
    const text = type ? checker.typeToString(type) : "nothing";
    throw refusal(program, declaration, `has the type ${text}, which is no function's`);
  }
  if (others.length > 0) {
    throw refusal(
      program,
      declaration,
      `has ${signatures.length} overloads, of which a tool can have one: export a function for each`,
    );
  }
  const thisType = signature.getThisParameter();
  const given = thisType && checker.getTypeOfSymbol(thisType);
  if (given && !(given.flags & (TypeFlags.Void | TypeFlags.AnyOrUnknown | TypeFlags.Undefined))) {
    throw refusal(program, declaration, "takes a this, which a tool is not given");
  }
  return signature;
}

function refusal(program: SourceProgram, declaration: Node, what: string): InexpressiblePart {
  return new InexpressiblePart(program.place(declaration), "", what);
}

function withDefinitions(schema: SchemaNode, { definitions }: TypeReader): JsonSchema {
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions };
}

/** The schema of a result that is an object; null for any other, or one that JSON can't carry. */
function readResult(
  program: SourceProgram,
  signature: Signature,
  declaration: Node,
): JsonSchema | null {
  const returned = program.checker.getReturnTypeOfSignature(signature);
  const type = returned && resultType(program, returned);
  if (!type || !isObjectType(program, type)) return null;
  const reader = new TypeReader(program, "out", () => {});
  try {
    const schema = reader.read(type, { path: "", declaration });
    const root: SchemaNode = { ...schema, type: "object" };
    return withDefinitions(root, reader);
  } catch (error) {
    if (error instanceof InexpressiblePart) return null;
    throw error;
  }
}

/** What a promise or generator comes to: what it returns, or else its last yield. */
function resultType(program: SourceProgram, type: Type): Type | undefined {
  const name = type.getSymbol()?.name ?? "";
  const declaration = type.getSymbol()?.declarations[0]?.resolve();
  if (!type.isTypeReference() || !declaration || !program.isBuiltIn(declaration)) return type;
  const [first, second] = program.checker.getTypeArguments(type);
  if (name === "Promise" || name === "PromiseLike") return first && resultType(program, first);
  if (!/^(?:Async)?(?:Generator|Iterator|IterableIterator|Iterable|IteratorObject)$/u.test(name)) {
    return type;
  }
  const isSilent =
    !second || (second.flags & (TypeFlags.Void | TypeFlags.Undefined | TypeFlags.Any)) !== 0;
  return isSilent ? first : second;
}

function isObjectType(program: SourceProgram, type: Type): boolean {
  const parts = type.isUnionType() ? type.getTypes() : [type];
  return parts.every(
    (part) =>
      (part.flags & (TypeFlags.Object | TypeFlags.Intersection)) !== 0 &&
      !program.checker.isArrayLikeType(part),
  );
}
