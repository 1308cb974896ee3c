import { readFileSync } from "node:fs";

/** One golden case; what `input` and `expect` hold depends on the group. */
export interface Case<Input = unknown, Expect = unknown> {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly input: Input;
  readonly expect: Expect;
  /** What must stand in an error's text. */
  readonly contains?: readonly string[];
}

/** An error as cases expect it. */
export interface ExpectedError {
  readonly type: string;
  readonly text: string;
  readonly cause?: ExpectedError;
}

const folder = new URL("../cases/", import.meta.url);

/** The cases of one group, such as `normalize`. */
export function readCases<Input, Expect>(group: string): readonly Case<Input, Expect>[] {
  const file = readFileSync(new URL(`${group}.json`, folder), "utf8");
  return (JSON.parse(file) as { readonly cases: readonly Case<Input, Expect>[] }).cases;
}

/** The ids of every case of every group. */
export function allCaseIds(): readonly string[] {
  const groups = [
    "normalize",
    "merge",
    "contributed",
    "descriptors",
    "execute",
    "refuse",
    "selection",
    "remap",
  ];
  return groups.flatMap((group) => readCases(group).map(({ id }) => id));
}

/** Whether a text is the expected one: `<text>` and `<any non-empty text>` stand for any. */
export function matchesText(actual: string, expected: string): boolean {
  if (expected === "<text>" || expected === "<any non-empty text>") return actual !== "";
  return actual === expected;
}
