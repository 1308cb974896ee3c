import type { Data } from "./cases.ts";

/** What `{{name}}` stands for in one execution of a case. */
export type Variables = Map<string, string>;

/**
 * Data with its placeholders, `$repeat` and `$concat` replaced by what they stand for.
 *
 * @throws Error for a placeholder that stands for nothing yet
 */
export function fill(data: Data, variables: Variables): Data {
  if (typeof data === "string") return fillText(data, variables);
  if (typeof data !== "object" || data === null) return data;
  if (Array.isArray(data)) return data.map((item: Data) => fill(item, variables));
  const entries = Object.entries(data);
  const [first] = entries;
  if (entries.length === 1 && first) {
    const [key, value] = first;
    if (key === "$repeat") return repeated(value as readonly [string, number]);
    if (key === "$concat") {
      return (fill(value, variables) as readonly string[]).join("");
    }
  }
  return Object.fromEntries(
    entries.map(([key, value]) => [fillText(key, variables), fill(value, variables)]),
  );
}

function repeated([text, times]: readonly [string, number]): string {
  return text.repeat(times);
}

function fillText(text: string, variables: Variables): string {
  return text.replace(/\{\{(\w+)\}\}/gu, (_whole, name: string) => {
    const value = variables.get(name);
    if (value === undefined) throw new Error(`the case uses {{${name}}}, which stands for nothing`);
    return value;
  });
}
