/** A value in a few words, for error texts. Never throws. */
export function show(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  }
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function") return describeFunction(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return "an array";
  const name = typeNameOf(value);
  return name === "Object" ? "an object" : `a ${name}`;
}

/** The name of a value's class, or of its type. Never throws. */
export function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  try {
    const { constructor } = value as { readonly constructor?: unknown };
    const name = typeof constructor === "function" ? constructor.name : "";
    return typeof name === "string" && name !== "" ? name : "Object";
  } catch {
    return "Object";
  }
}

/** Tells classes, bound functions and plain functions apart, with their names. */
export function describeFunction(value: { readonly name?: unknown }): string {
  const name = typeof value.name === "string" && value.name !== "" ? ` ${value.name}` : "";
  if (isClass(value)) return `the class${name}`;
  return name.startsWith(" bound ") ? `the bound function${name.slice(6)}` : `the function${name}`;
}

/** Whether a function is a class. */
export function isClass(value: unknown): boolean {
  return typeof value === "function" && /^class\b/u.test(Function.prototype.toString.call(value));
}

/** Whether a function is what `bind` made of another. */
export function isBound(value: unknown): boolean {
  return typeof value === "function" && value.name.startsWith("bound ");
}
