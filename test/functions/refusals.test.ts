import test from "ava";
import { ConfigurationError } from "../../src/errors.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import { loadSource } from "./lib/source.ts";

interface Refused {
  readonly what: string;
  readonly source: string;
  /** What is offered, where that is not the export `f`. */
  readonly offered?: string;
  /** The line of the source that is named; absent where nothing of it is. */
  readonly line?: number;
  readonly text: string;
}

const refused: readonly Refused[] = [
  {
    what: "a class",
    source: "/** Is a class. */\nexport class Order { id = 1; }",
    offered: "Order",
    line: 2,
    text: "the class Order can't be a tool: ",
  },
  {
    what: "a bound function",
    source: "/** Is fine. */\nexport function f(a: string): string { return a; }",
    offered: "f.bind(null)",
    line: 2,
    text: "the bound function f can't be a tool: ",
  },
  {
    what: "a parameter without a type",
    source:
      "/** Takes two. */\nexport function f(\n  a: string,\n  b,\n): string { return a + b; }",
    line: 4,
    text: "b of f has no type",
  },
  {
    what: "the rest of the parameters without a type",
    source: "/** Takes any number. */\nexport function f(...all): number { return all.length; }",
    line: 2,
    text: "all of f has no type",
  },
  {
    what: "a destructured parameter without a type",
    source: "/** Takes one. */\nexport function f({ a, b }): string { return a + b; }",
    line: 2,
    text: "a of f has no type",
  },
  {
    what: "a function without a doc comment",
    source: "// Adds.\nexport function f(a: number): number { return a; }",
    line: 2,
    text: "f has no doc comment",
  },
  {
    what: "a doc comment without words",
    source: "/** @idempotent */\nexport const f = (a: number): number => a;",
    line: 2,
    text: "f has no doc comment",
  },
  {
    what: "a map within a list",
    source:
      "interface Input {\n  rows: Map<string, number>[];\n}\n/** Reads. */\nexport function f(input: Input): void { void input; }",
    line: 2,
    text: "input.rows[] of f has the type Map<string, number>, which JSON can't carry",
  },
  {
    what: "an instance of a class",
    source:
      "class Money { cents = 1n; }\n/** Pays. */\nexport function f(price: Money): void { void price; }",
    line: 3,
    text: "price of f has the type Money, a class, which JSON can't carry",
  },
  {
    what: "a callback",
    source: "/** Calls. */\nexport function f(then: () => void): void { then(); }",
    line: 2,
    text: "then of f has the type () => void, a function, which JSON can't carry",
  },
  {
    what: "a symbol",
    source: "/** Marks. */\nexport function f(mark: symbol): void { void mark; }",
    line: 2,
    text: "mark of f has the type symbol, which JSON can't carry",
  },
  {
    what: "a type parameter that may be anything",
    source: "/** Echoes. */\nexport function f<T>(value: T): T { return value; }",
    line: 2,
    text: "value of f has the type T, which is generic",
  },
  {
    what: "a type that is nowhere",
    source: "/** Reads. */\nexport function f(input: Nowhere): void { void input; }",
    line: 2,
    text: "input of f has the type Nowhere, which the compiler can't resolve",
  },
  {
    what: "a type without end",
    source:
      "type Deep<T> = { inner: Deep<T[]> };\n/** Digs. */\nexport function f(deep: Deep<string>): void { void deep; }",
    line: 1,
    text: "which goes on without end",
  },
  {
    what: "a text whose case is asked for",
    source: "/** Shouts. */\nexport function f(text: Uppercase<string>): void { void text; }",
    line: 2,
    text: "text of f has the type Uppercase<string>, ",
  },
  {
    what: "overloads",
    source:
      "/** One. */\nexport function f(a: string): void;\nexport function f(a: number): void;\nexport function f(a: unknown): void { void a; }",
    line: 2,
    text: "f has 2 overloads",
  },
  {
    what: "a function that needs a this",
    source: "/** Reads. */\nexport function f(this: { x: number }): number { return this.x; }",
    line: 2,
    text: "f takes a this",
  },
  {
    what: "two parameters of which one has no name",
    source:
      "/** Takes two. */\nexport function f({ a }: { a: 1 }, b: number): number { return a + b; }",
    line: 2,
    text: "parameter 1 of f is destructured and so has no name",
  },
  {
    what: "a function that nothing exports",
    source: "/** Hides. */\nfunction f(a: string): string { return a; }",
    line: 2,
    text: "no module exports it",
  },
  {
    what: "a function without a name",
    source: "/** Nobody's. */",
    offered: "(a: string): string => a",
    text: "no module exports it",
  },
  {
    what: "a native function",
    source: "",
    offered: "Math.max",
    text: "the function max can't be a tool: no module exports it",
  },
];

test("what can't be a tool is refused with file, line and type, and the others are not", async (t) => {
  // Each in a module of its own, read in one go.
  const beside = Object.fromEntries(
    refused.map(({ source, offered = "f" }, index) => [
      `case${index}.ts`,
      `${source}\nexport const offered${index} = [${offered}];\n`,
    ]),
  );
  const imports = refused.map((_, index) => `import { offered${index} } from "./case${index}.ts";`);
  const names = refused.map((_, index) => `offered${index}[0]`);
  const fine = "/** Is fine. */\nexport function fine(a: string): string { return a; }";
  const { definition } = await loadSource(t, `${imports.join("\n")}\n${fine}`, [...names, "fine"], {
    beside,
  });
  t.plan(refused.length + 1);
  refused.forEach(({ what, line, text }, index) => {
    const error = t.throws(
      () => buildRegistry({ tools: [definition.tools[index]] }),
      {
        instanceOf: ConfigurationError,
      },
      what,
    );
    const place = line === undefined ? "" : `case${index}.ts:${line}: `;
    const message = error?.message ?? "";
    if (!message.includes(text) || !message.includes(place)) t.fail(`${what}: ${message}`);
  });
  t.is(buildRegistry({ tools: [definition.tools.at(-1)] }).tools.length, 1);
});

test("a capability's function that can't be a tool is named with its capability", async (t) => {
  const source = `
export function f(a: string): string { return a; }
export default defineTools({ capabilities: [{ name: "crm", tools: [f] }] });`;
  const { port } = await loadSource(t, `import { defineTools } from "toolport";${source}`, []);
  t.throws(port, {
    instanceOf: ConfigurationError,
    message: /^capability 'crm' contributed .*tools\.ts:2: f has no doc comment/u,
  });
});
