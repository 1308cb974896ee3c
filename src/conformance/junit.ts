import type { CaseResult } from "./run-suite.ts";

/** Results as a JUnit XML report: a suite a path, a test case a case. */
export function junitReport(results: readonly CaseResult[]): string {
  const paths = [...new Set(results.map(({ path }) => path))];
  const suites = paths.map((path) => {
    const own = results.filter((result) => result.path === path);
    return [
      `  <testsuite name="${escape(path.name)}" ${counts(own)}>`,
      ...own.flatMap(testCase),
      "  </testsuite>",
    ].join("\n");
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="toolport.v1" ${counts(results)}>`,
    ...suites,
    "</testsuites>",
    "",
  ].join("\n");
}

function counts(results: readonly CaseResult[]): string {
  const of = (...verdicts: readonly CaseResult["verdict"][]): number =>
    results.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const ms = results.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return `tests="${results.length}" failures="${of("failed")}" skipped="${of("skipped", "known")}" time="${seconds(ms)}"`;
}

function testCase({ path, example, verdict, details, durationMs }: CaseResult): readonly string[] {
  const { id, title } = example;
  const topic = id.split("/", 1)[0] ?? "";
  const open = `    <testcase classname="${escape(`${path.name}.${topic}`)}" name="${escape(`${id}: ${title}`)}" time="${seconds(durationMs)}"`;
  if (verdict === "passed") return [`${open}/>`];
  const text = escape(details.join("\n"));
  const inner =
    verdict === "failed"
      ? `      <failure message="${escape(details[0] ?? "")}">${text}</failure>`
      : `      <skipped message="${text}"/>`;
  return [`${open}>`, inner, "    </testcase>"];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function escape(text: string): string {
  return (
    text
      .toWellFormed()
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      // Characters that no XML 1.0 document may have, not even escaped.
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/gu, "\ufffd")
  );
}
