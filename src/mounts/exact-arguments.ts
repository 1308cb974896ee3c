/** The same arguments, but that whatever serialises them writes bigints as their digits. */
export function withDigits(
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return hasBigint(args) ? (exact(args) as Readonly<Record<string, unknown>>) : args;
}

function hasBigint(value: unknown): boolean {
  if (typeof value === "bigint") return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasBigint);
}

// Not in TypeScript's library yet: ECMAScript 2026, "JSON.parse source text access".
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

function exact(value: unknown): unknown {
  if (typeof value === "bigint") return rawJson(value.toString());
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, exact(inner)]));
}
