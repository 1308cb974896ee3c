/**
 * Says in one short line what was thrown, whatever it is. Never throws, and never shows a stack.
 */
export function describeThrown(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return cut(`${thrown.name}: ${thrown.message}`);
    if (typeof thrown === "string") return cut(thrown);
    if (typeof thrown === "object" && thrown !== null) return "it threw an object";
    return cut(`it threw ${String(thrown)}`);
  } catch {
    return "it threw something that cannot be read";
  }
}

/** Names, quoted, at most ten of them. */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 10).map((name) => JSON.stringify(name.slice(0, 80)));
  return all.length > 10 ? `${shown.join(", ")} and ${all.length - 10} more` : shown.join(", ");
}

function cut(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
