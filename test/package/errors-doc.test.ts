import { readFileSync } from "node:fs";
import test from "ava";
import { catalogue, type ErrorCode } from "../../src/errors.ts";
import { ErrorKindSchema } from "../../src/wire/v1.ts";

const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const contract = readFileSync(
  new URL("../../proto/toolport/v1/tool_port_service.proto", import.meta.url),
  "utf8",
);

test("the page lists every code with its status and advice, and no other code", (t) => {
  const listed = rows(section("## Faults")).map(([code, status, , advice]) => [
    code,
    { status: status === "–" ? null : status, advice },
  ]);
  t.deepEqual(Object.fromEntries(listed), catalogue);
});

test("the page lists every kind of outcome, and no other kind", (t) => {
  const kinds = ErrorKindSchema.values.slice(1).map((value) => value.localName);
  t.deepEqual(
    rows(section("## Outcomes")).map(([kind]) => kind),
    kinds,
  );
});

test("the contract lists every fault that travels, with its status", (t) => {
  const listed = [...contract.matchAll(/^\/\/ \| ([A-Z_]+) +\| ([A-Z_]+) +\|/gmu)];
  const travelling = Object.entries(catalogue).filter(([, { status }]) => status !== null);
  t.deepEqual(
    Object.fromEntries(listed.map(([, code, status]) => [code, status])),
    Object.fromEntries(travelling.map(([code, { status }]) => [code as ErrorCode, status])),
  );
});

function section(heading: string): string {
  const from = page.indexOf(heading);
  const to = page.indexOf("\n## ", from + 1);
  return page.slice(from, to < 0 ? undefined : to);
}

/** The cells of each table row whose first cell is code. */
function rows(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`([A-Z_]+)`$/u, "$1")),
    );
}
