import type { Type } from "typescript/unstable/sync";
import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { Inexpressible } from "./inexpressible.ts";
import type { SchemaNode } from "./schema-node.ts";

const maxDepth = 40;

/** The types that are being read, each within the one before it. */
export class OpenTypes {
  /** By the type's id, with the name of each that refers to itself. */
  readonly #open = new Map<number, { name: string | undefined }>();
  readonly #definitions = new Map<string, JsonValue>();
  #depth = 0;

  /** The definitions that `$ref`s refer to. */
  get definitions(): JsonObject {
    return Object.fromEntries(this.#definitions);
  }

  /** Reads a type that may contain itself: within it, it becomes a `$ref`. */
  around(type: Type, read: () => SchemaNode): SchemaNode {
    const open = this.#open.get(type.id);
    if (open) {
      open.name ??= this.#nameOf(type);
      return { $ref: `#/$defs/${open.name}` };
    }
    const entry: { name: string | undefined } = { name: undefined };
    this.#open.set(type.id, entry);
    try {
      const schema = this.deeper(read);
      if (entry.name === undefined) return schema;
      this.#definitions.set(entry.name, schema);
      return { $ref: `#/$defs/${entry.name}` };
    } finally {
      this.#open.delete(type.id);
    }
  }

  /**
   * Reads a part of a type, unless it is too deep: a generic type that contains another form of itself
   * has no end.
   */
  deeper(read: () => SchemaNode): SchemaNode {
    this.#depth += 1;
    try {
      if (this.#depth > maxDepth) throw new Inexpressible("which goes on without end");
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  #nameOf(type: Type): string {
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
