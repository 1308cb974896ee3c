/** Values that were found to be deeply frozen plain data, so that they are walked only once. */
const immutable = new WeakSet<object>();

/**
 * Copies plain data and freezes the copy all the way down. Data that is deeply frozen already is
 * returned as it is. What is no plain data (functions, symbols, instances of classes) becomes
 * `null` in a list and is left out of an object. Shared parts and cycles keep their shape.
 */
export function frozenCopy<T>(value: T): T {
  return (isObject(value) ? copy(value) : plain(value)) as T;
}

function copy(root: object): unknown {
  if (isImmutable(root)) return root;
  const copies = new Map<object, object>();
  const pending: object[] = [];
  // A worklist: input may nest deeper than the stack allows.
  const start = (value: unknown): unknown => {
    if (!isObject(value)) return plain(value);
    if (immutable.has(value)) return value;
    if (!isPlain(value)) return undefined;
    const known = copies.get(value);
    if (known !== undefined) return known;
    const made: object = Array.isArray(value)
      ? []
      : (Object.create(Object.getPrototypeOf(value) === null ? null : Object.prototype) as object);
    copies.set(value, made);
    pending.push(value);
    return made;
  };
  const result = start(root);
  for (let source = pending.pop(); source !== undefined; source = pending.pop()) {
    fill(copies.get(source) as object, source, start);
  }
  for (const made of copies.values()) immutable.add(Object.freeze(made));
  return result;
}

function fill(made: object, source: object, start: (value: unknown) => unknown): void {
  if (Array.isArray(source)) {
    for (const item of source as unknown[]) (made as unknown[]).push(start(item) ?? null);
    return;
  }
  for (const [key, item] of Object.entries(source)) {
    const value = start(item);
    if (value === undefined && item !== undefined) continue;
    // Not an assignment: `__proto__` is a key like any other.
    Object.defineProperty(made, key, { value, enumerable: true });
  }
}

function isImmutable(root: object): boolean {
  const seen = new Set<object>();
  const pending: object[] = [root];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (seen.has(value) || immutable.has(value)) continue;
    if (!Object.isFrozen(value) || !isPlain(value)) return false;
    seen.add(value);
    for (const property of Object.values(Object.getOwnPropertyDescriptors(value))) {
      if (!("value" in property)) return false;
      const item: unknown = property.value;
      if (isObject(item)) pending.push(item);
      else if (typeof item === "function" || typeof item === "symbol") return false;
    }
  }
  for (const value of seen) immutable.add(value);
  return true;
}

function plain(value: unknown): unknown {
  return typeof value === "function" || typeof value === "symbol" ? undefined : value;
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
