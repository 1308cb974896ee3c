import type { Node } from "typescript/unstable/ast";
import { ElementFlags, type TupleType, type TypeReference } from "typescript/unstable/sync";
import { Inexpressible } from "./inexpressible.ts";
import type { PartReader, Spot } from "./part-reader.ts";
import type { SourceProgram } from "./program.ts";
import { compact, type SchemaNode } from "./schema-node.ts";
import type { TypeHint } from "./type-hint.ts";

/** The schema of a list whose items have the type that is the list's first argument. */
export function arraySchema(
  program: SourceProgram,
  reader: PartReader,
  type: TypeReference,
  hint: TypeHint | undefined,
  spot: Spot,
): SchemaNode {
  const [item] = program.checker.getTypeArguments(type);
  if (!item) return { type: "array" };
  const items = reader.part(item, reader.hints.element(hint), `${spot.path}[]`, spot);
  return { type: "array", items };
}

/**
 * The schema of a tuple.
 *
 * @throws Inexpressible where more follows its open part
 */
export function tupleSchema(
  program: SourceProgram,
  reader: PartReader,
  type: TypeReference,
  hint: TypeHint | undefined,
  spot: Spot,
): SchemaNode {
  const target = type.getTarget() as TupleType;
  const types = program.checker.getTypeArguments(type);
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
    const own = elementHint(written?.[index], hint);
    const node = reader.part(element, own, `${spot.path}[${index}]`, spot);
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

function elementHint(node: Node | undefined, around: TypeHint | undefined): TypeHint | undefined {
  // `name: T`, `T?` and `...T[]` hold the type that is meant.
  const inner = (node as { type?: Node } | undefined)?.type ?? node;
  return inner && around ? { ...around, node: inner as TypeHint["node"] } : undefined;
}
