import {
  isArrayLiteralExpression,
  isAsExpression,
  isBigIntLiteral,
  isIdentifier,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAssignment,
  isSatisfiesExpression,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from "typescript/unstable/ast";
import type { JsonValue } from "../../domain/json.ts";

/** The value of an initialiser that is written out; undefined for one that is computed. */
export function literalValue(node: Node): JsonValue | undefined {
  if (isParenthesizedExpression(node) || isAsExpression(node) || isSatisfiesExpression(node)) {
    return literalValue(node.expression);
  }
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (isNumericLiteral(node)) return Number(node.text);
  if (isBigIntLiteral(node)) return BigInt(node.text.replaceAll("_", "").replace(/n$/u, ""));
  if (isPrefixUnaryExpression(node)) {
    const value = literalValue(node.operand);
    const isMinus = node.operator === SyntaxKind.MinusToken;
    return isMinus && (typeof value === "number" || typeof value === "bigint") ? -value : undefined;
  }
  if (isArrayLiteralExpression(node)) return listValue(node.elements);
  if (isObjectLiteralExpression(node)) return objectValue(node.properties);
  return keywordValue(node.kind);
}

function keywordValue(kind: SyntaxKind): JsonValue | undefined {
  if (kind === SyntaxKind.TrueKeyword) return true;
  if (kind === SyntaxKind.FalseKeyword) return false;
  return kind === SyntaxKind.NullKeyword ? null : undefined;
}

function listValue(elements: readonly Node[]): JsonValue | undefined {
  const values = elements.map(literalValue);
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? known : undefined;
}

function objectValue(members: readonly Node[]): JsonValue | undefined {
  const object: Record<string, JsonValue> = {};
  for (const member of members) {
    if (!isPropertyAssignment(member)) return undefined;
    const { name } = member;
    if (!isIdentifier(name) && !isStringLiteral(name)) return undefined;
    const value = literalValue(member.initializer);
    if (value === undefined || name.text === "__proto__") return undefined;
    object[name.text] = value;
  }
  return object;
}
