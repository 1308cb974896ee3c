import {
  isBindingElement,
  isIdentifier,
  isObjectBindingPattern,
  isStringLiteral,
  type Node,
  type ObjectBindingPattern,
  type ParameterDeclaration,
} from "typescript/unstable/ast";
import { type Signature, type Symbol, type Type, TypeFlags } from "typescript/unstable/sync";
import type { JsonValue } from "../../domain/json.ts";
import type { Passed } from "../../registry/plain-function.ts";
import { fits } from "../../registry/schema/derived-values.ts";
import type { Doc } from "./doc-comment.ts";
import type { FunctionDoc } from "./function-doc.ts";
import { InexpressiblePart } from "./inexpressible.ts";
import { literalValue } from "./literal-value.ts";
import type { SourceProgram } from "./program.ts";
import type { SchemaNode } from "./schema-node.ts";
import type { TypeReader } from "./type-schema.ts";

/** A function's parameters, as they are advertised and as they are passed. */
export interface Parameters {
  readonly schema: SchemaNode;
  readonly passed: readonly Passed[];
}

interface Parameter {
  readonly name: string;
  readonly declaration: ParameterDeclaration | undefined;
  readonly type: Type;
  readonly injected: "signal" | "context" | undefined;
}

/**
 * Reads a signature's parameters: each is a property of its name. A destructured one has no name; where
 * it is the only one that is advertised, its members are the properties.
 *
 * @throws InexpressiblePart
 */
export function readParameters(
  program: SourceProgram,
  reader: TypeReader,
  signature: Signature,
  doc: FunctionDoc,
): Parameters {
  const all = signature.getParameters().map((symbol) => readParameter(program, symbol));
  const advertised = all.filter(({ injected }) => injected === undefined);
  const [only, ...others] = advertised;
  const pattern = only && others.length === 0 ? patternOf(only) : undefined;
  const read = new ParameterReader(program, reader, doc);
  const parameters =
    only && pattern
      ? read.members(only, pattern)
      : read.named(advertised, signature.hasRestParameter);
  doc.warnOfUnused();
  const passed = all.map(({ injected }) => (injected ? { kind: injected } : undefined));
  const own = [...parameters.passed];
  return {
    schema: parameters.schema,
    passed: passed.map((one) => one ?? (own.shift() as Passed)),
  };
}

function readParameter(program: SourceProgram, symbol: Symbol): Parameter {
  const declaration = symbol.valueDeclaration?.resolve() as ParameterDeclaration | undefined;
  const type = program.checker.getTypeOfSymbol(symbol) ?? program.checker.getUnknownType();
  return { name: symbol.name, declaration, type, injected: injectedKind(program, type) };
}

/** Whether a parameter is the call's signal or its context, however it is imported. */
function injectedKind(program: SourceProgram, type: Type): Parameter["injected"] {
  const present = type.isUnionType()
    ? type.getTypes().filter(({ flags }) => !(flags & TypeFlags.Nullable))
    : [type];
  const symbol = present.length === 1 ? present[0]?.getSymbol() : undefined;
  const declaration = symbol?.declarations[0]?.resolve();
  if (!symbol || !declaration) return undefined;
  if (symbol.name === "AbortSignal" && program.isBuiltIn(declaration)) return "signal";
  const file = declaration.getSourceFile().fileName;
  const isOurs = /\/domain\/tool\.(?:d\.)?ts$/u.test(file);
  return symbol.name === "ToolContext" && isOurs ? "context" : undefined;
}

function patternOf({ declaration }: Parameter): ObjectBindingPattern | undefined {
  const name = declaration?.name;
  return name && isObjectBindingPattern(name) ? name : undefined;
}

class ParameterReader {
  readonly #program: SourceProgram;
  readonly #reader: TypeReader;
  readonly #doc: FunctionDoc;

  constructor(program: SourceProgram, reader: TypeReader, doc: FunctionDoc) {
    this.#program = program;
    this.#reader = reader;
    this.#doc = doc;
  }

  named(parameters: readonly Parameter[], hasRest: boolean): Parameters {
    const properties: Record<string, SchemaNode> = Object.create(null) as Record<
      string,
      SchemaNode
    >;
    const required: string[] = [];
    const passed: Passed[] = [];
    parameters.forEach((parameter, index) => {
      const { name, declaration } = parameter;
      if (declaration && !isIdentifier(declaration.name)) {
        throw this.#refusal(
          parameter,
          `parameter ${index + 1}`,
          "is destructured and so has no name: give it one, or make it the only one",
        );
      }
      const isRest = declaration
        ? declaration.dotDotDotToken !== undefined
        : hasRest && index === parameters.length - 1;
      const { schema, isOptional } = this.#slot(parameter);
      properties[name] = schema;
      if (!isOptional && !(isRest && schema["minItems"] === undefined)) required.push(name);
      passed.push({ kind: isRest ? "rest" : "argument", name });
    });
    return { schema: rootSchema({ ...properties }, required), passed };
  }

  members(parameter: Parameter, pattern: ObjectBindingPattern): Parameters {
    this.#requireType(parameter, "its parameter");
    this.#requireMemberTypes(parameter);
    const { declaration, type } = parameter;
    const hint = this.#reader.hintAt(declaration);
    const schema = this.#reader.read(type, { path: "", declaration }, hint);
    const root = this.#rootOf(schema);
    if (!this.#isObject(root)) {
      throw this.#refusal(parameter, "its parameter", "is destructured and is no object");
    }
    return { schema: this.#withDefaults(root, pattern), passed: [{ kind: "members" }] };
  }

  #slot(parameter: Parameter): { readonly schema: SchemaNode; readonly isOptional: boolean } {
    const { name, declaration, type } = parameter;
    this.#requireType(parameter, name);
    const said = this.#doc.ofParameter(name);
    const own = this.#reader.docOf(declaration);
    const doc: Doc = {
      description: said.description || own.description,
      tags: [...own.tags, ...said.tags],
    };
    const slot = this.#reader.slot(
      type,
      doc,
      { path: name, declaration },
      this.#reader.hintAt(declaration),
    );
    const schema = this.#withMemberDocs(slot.schema, (key) =>
      this.#doc.ofParameter(`${name}.${key}`),
    );
    const initializer = declaration?.initializer;
    return {
      schema: initializer ? this.#withDefault(schema, initializer) : schema,
      isOptional:
        slot.isOptional || initializer !== undefined || declaration?.questionToken !== undefined,
    };
  }

  /** An initialiser that is written out is advertised; the function applies any by itself. */
  #withDefault(schema: SchemaNode, initializer: Node): SchemaNode {
    const value = literalValue(initializer);
    const document = { $defs: this.#reader.definitions, ...schema };
    return value !== undefined && fits(value, schema, document)
      ? { ...schema, default: advertisable(value) }
      : schema;
  }

  /** What a pattern's own initialisers and `@param options.name` say goes to the members. */
  #withDefaults(root: SchemaNode, pattern: ObjectBindingPattern): SchemaNode {
    const { properties } = root;
    if (typeof properties !== "object" || properties === null) return root;
    const members = { ...(properties as Record<string, SchemaNode>) };
    let required = ((root["required"] ?? []) as readonly string[]).slice();
    for (const element of pattern.elements) {
      const key = keyOf(element);
      const { initializer } = element as { readonly initializer?: Node };
      if (key === undefined || !initializer) continue;
      const schema = Object.hasOwn(members, key) ? members[key] : undefined;
      if (!schema) continue;
      members[key] = this.#withDefault(schema, initializer);
      required = required.filter((one) => one !== key);
    }
    const { required: _given, ...rest } = root;
    const defaulted = { ...rest, properties: members, ...(required.length > 0 && { required }) };
    return this.#withMemberDocs(defaulted, (key) => this.#doc.ofMember(key));
  }

  /** What the function's doc comment says of the members of a parameter. */
  #withMemberDocs(schema: SchemaNode, docOf: (key: string) => Doc): SchemaNode {
    const { properties } = schema;
    if (typeof properties !== "object" || properties === null) return schema;
    const members = { ...(properties as Record<string, SchemaNode>) };
    for (const [key, member] of Object.entries(members)) {
      members[key] = this.#reader.documented(member, docOf(key));
    }
    const required = ((schema["required"] ?? []) as readonly string[]).filter(
      (key) => members[key]?.["default"] === undefined,
    );
    const { required: _given, ...rest } = schema;
    return { ...rest, properties: members, ...(required.length > 0 && { required }) };
  }

  #rootOf(schema: SchemaNode): SchemaNode {
    const ref = schema["$ref"];
    if (typeof ref !== "string") return schema;
    const { $ref: _ref, ...beside } = schema;
    const target = this.#reader.definitions[ref.slice("#/$defs/".length)];
    return { ...(target as SchemaNode), ...beside };
  }

  #isObject(schema: SchemaNode): boolean {
    const { type, anyOf } = schema;
    if (type === "object") return true;
    const branches = Array.isArray(anyOf) ? (anyOf as readonly SchemaNode[]) : [];
    return branches.length > 0 && branches.every((one) => this.#isObject(this.#rootOf(one)));
  }

  #requireType(parameter: Parameter, name: string): void {
    const { declaration, type } = parameter;
    if (!declaration || declaration.type || declaration.initializer) return;
    // JavaScript states types in its doc comments, and an arrow function has them of its constant.
    const isRest = declaration.dotDotDotToken !== undefined;
    if (!isAny(type) && !(isRest && this.#elements(type).some(isAny))) return;
    throw this.#refusal(parameter, name, "has no type: annotate it");
  }

  /** A pattern without a type gives each of its members any. */
  #requireMemberTypes(parameter: Parameter): void {
    const { declaration, type } = parameter;
    if (!declaration || declaration.type) return;
    const { checker } = this.#program;
    for (const member of checker.getPropertiesOfType(type)) {
      const own = checker.getTypeOfSymbol(member);
      const written = (member.valueDeclaration ?? member.declarations[0])?.resolve();
      // What its author said may be anything is.
      if ((written && !isBindingElement(written)) || !own || !isAny(own)) continue;
      throw this.#refusal(parameter, member.name, "has no type: annotate the parameter");
    }
  }

  #elements(type: Type): readonly Type[] {
    return type.isTypeReference() ? this.#program.checker.getTypeArguments(type) : [];
  }

  #refusal({ declaration }: Parameter, name: string, what: string): InexpressiblePart {
    return new InexpressiblePart(declaration && this.#program.place(declaration), name, what);
  }
}

function isAny({ flags }: Type): boolean {
  return (flags & TypeFlags.Any) !== 0;
}

/** The property that an element of a pattern takes; undefined for one that is computed. */
function keyOf(element: Node): string | undefined {
  const { name, propertyName } = element as {
    readonly name?: Node;
    readonly propertyName?: Node;
  };
  const key = propertyName ?? name;
  return key && (isIdentifier(key) || isStringLiteral(key)) ? key.text : undefined;
}

function rootSchema(properties: SchemaNode, required: readonly string[]): SchemaNode {
  return { type: "object", properties, ...(required.length > 0 && { required: [...required] }) };
}

/** Beyond 2^53 a default would lose digits on its way: it is the function's own matter. */
function advertisable(value: JsonValue): JsonValue {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
