import type { CaseResult } from "./run-suite.ts";

/** Results for people: what failed and why, what was skipped and why, and the counts by path. */
export function textReport(results: readonly CaseResult[]): string {
  const failed = results
    .filter(({ verdict }) => verdict === "failed")
    .map(({ path, example, details }) =>
      [
        `FAILED  ${example.id} over ${path.name}`,
        `  ${example.title}`,
        ...details.map(indent),
      ].join("\n"),
    );
  return [
    ...failed.map((text) => `${text}\n`),
    ...reasons("KNOWN", "known", results),
    ...reasons("SKIPPED", "skipped", results),
    ...byPath(results),
    "",
  ].join("\n");
}

/** One line for each reason, with how many cases it is of. */
function reasons(
  word: string,
  verdict: CaseResult["verdict"],
  results: readonly CaseResult[],
): readonly string[] {
  const counted = new Map<string, number>();
  for (const result of results) {
    if (result.verdict !== verdict) continue;
    const why = result.details.join("; ");
    counted.set(why, (counted.get(why) ?? 0) + 1);
  }
  return [...counted].map(([why, count]) => `${word}  ${count}: ${why}\n`);
}

function byPath(results: readonly CaseResult[]): readonly string[] {
  const names = [...new Set(results.map(({ path }) => path.name))];
  const width = Math.max(...names.map((name) => name.length), 0);
  return names.map((name) => {
    const own = results.filter(({ path }) => path.name === name);
    const counts = (["passed", "failed", "known", "skipped"] as const).flatMap((verdict) => {
      const count = own.filter((result) => result.verdict === verdict).length;
      return count === 0 && verdict !== "passed" ? [] : [`${count} ${verdict}`];
    });
    return `${name.padEnd(width)}  ${counts.join(", ")}`;
  });
}

function indent(text: string): string {
  return `  ${text.replaceAll("\n", "\n  ")}`;
}
