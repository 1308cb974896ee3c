/** A value as TypeScript would write it. */
export function sourceText(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Date) return `new Date(${JSON.stringify(value.toISOString())})`;
  if (value instanceof Uint8Array) return `new Uint8Array([${value.join(", ")}])`;
  if (Array.isArray(value)) return `[${value.map(sourceText).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([key, inner]) => `[${JSON.stringify(key)}]: ${sourceText(inner)}`,
    );
    return `{ ${members.join(", ")} }`;
  }
  return Object.is(value, -0) ? "-0" : JSON.stringify(value);
}
