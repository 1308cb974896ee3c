import { readFileSync } from "node:fs";
import test from "ava";
import { renderManifest } from "../../src/domain/manifest-text.ts";

interface Case {
  readonly id: string;
  readonly title: string;
  readonly input: {
    readonly manifest?: { readonly entries: readonly string[]; readonly token_budget?: number };
  };
  readonly expect: { readonly text: string };
}

const { cases } = JSON.parse(
  readFileSync(new URL("cases/descriptors.json", import.meta.url), "utf8"),
) as { readonly cases: readonly Case[] };

test("the manifest cases are there", (t) => {
  t.true(cases.some(({ input }) => input.manifest !== undefined));
});

for (const { id, title, input, expect } of cases) {
  const { manifest } = input;
  if (manifest !== undefined) {
    test(`${id}: ${title}`, (t) => {
      const entries = manifest.entries.map((manifestEntry) => ({
        name: manifestEntry.split(":", 1)[0] ?? "",
        description: "",
        manifestEntry,
      }));
      t.is(renderManifest(entries, { budgetTokens: manifest.token_budget }), expect.text);
    });
  }
}
