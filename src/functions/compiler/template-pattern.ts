import { type TemplateLiteralType, type Type, TypeFlags } from "typescript/unstable/sync";
import { Inexpressible } from "./inexpressible.ts";

/** The regular expression of a template literal type, anchored. */
export function templatePattern(type: TemplateLiteralType): string {
  return `^${inner(type)}$`;
}

function inner(type: TemplateLiteralType): string {
  const parts = type.getTypes();
  return type.texts
    .map((text, index) => {
      const part = parts[index];
      return escaped(text) + (part ? partPattern(part) : "");
    })
    .join("");
}

function partPattern(type: Type): string {
  if (type.flags & (TypeFlags.String | TypeFlags.Any)) return "[\\s\\S]*";
  if (type.flags & TypeFlags.Number) return "-?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d{1,2})?";
  if (type.flags & TypeFlags.BigInt) return "-?\\d+";
  if (type.isTemplateLiteralType()) return inner(type);
  if (type.isUnionType()) return `(?:${type.getTypes().map(partPattern).join("|")})`;
  if (type.isLiteralType()) return escaped(String(type.value));
  throw new Inexpressible("whose parts have no pattern");
}

function escaped(text: string): string {
  return text.replace(/[\^$\\.*+?()[\]{}|/]/gu, "\\$&");
}
