import test from "ava";
import fc from "fast-check";
import { z } from "zod";
import { ConfigurationError } from "../../src/errors.ts";
import { buildRegistry, type Capability } from "../../src/registry/build-registry.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { contextOf, echo } from "./world.ts";

test("a taken name is refused at the later place, naming who holds it", (t) => {
  const find = echo(null, "find");
  const of = (name: string): Capability => ({ name, tools: [find] });
  const textOf = (build: () => unknown): string =>
    t.throws(build, { instanceOf: ConfigurationError })?.message ?? "";
  t.is(
    textOf(() => buildRegistry({ tools: [find, find] })),
    "tools[1] resolves to the name 'find', which is already registered by an earlier tool; give one of them another name.",
  );
  t.is(
    textOf(() => buildRegistry({ tools: [find], capabilities: [of("a")] })),
    "capability 'a' contributed a tool named 'find', which is already registered by a tool passed to defineTools({ tools: [...] }).",
  );
  t.is(
    textOf(() => buildRegistry({ capabilities: [of(""), of("b")] })),
    "capability 'b' contributed a tool named 'find', which is already registered by capability ''.",
  );
});

test("names are compared exactly", (t) => {
  const names = ["list-files", "list_files", "List_Files", "toString", "constructor", "__proto__"];
  const capabilities = [{ name: "files", tools: names.map((name) => echo(null, name)) }];
  const registry = buildRegistry({ capabilities });
  t.deepEqual(
    registry.tools.map(({ descriptor }) => descriptor.name),
    names,
  );
  for (const name of names) t.is(registry.get(name)?.descriptor.name, name);
  t.is(registry.get("hasOwnProperty"), undefined);
  t.is(registry.get("list-files "), undefined);
});

const good = { name: "good", description: "d", execute: () => "ok" };

for (const [title, offered, reason] of [
  [
    "a schema that is no object",
    { ...good, name: "bad", parameters: { type: "string" } },
    /'bad'.*type "string"/u,
  ],
  ["a number for a schema", { ...good, name: "bad", parameters: 42 }, /'bad'.*42/u],
  ["an empty name", { ...good, name: "" }, /tools\[1\].*name is ""/u],
  [
    "a schema whose getter throws",
    {
      ...good,
      name: "bad",
      get parameters(): never {
        throw new Error("db down");
      },
    },
    /'bad'.*db down/u,
  ],
  [
    "a trait of another type",
    { ...good, name: "bad", timeoutMs: "5s" },
    /'bad'.*timeoutMs is "5s"/u,
  ],
  [
    "a plain function",
    function lookUp() {},
    /'lookUp', which is not a tool: the function lookUp.*defineTool/u,
  ],
  [
    "nothing to execute",
    { name: "bad", description: "d" },
    /'bad', which is not a tool: an object is neither/u,
  ],
  ["a promise", Promise.resolve(good), /a Promise is neither/u],
] as const) {
  test(`a capability that contributes ${title} is refused by name, with the reason`, (t) => {
    const capabilities = [{ name: "crm", tools: [good, offered] }];
    const error = t.throws(() => buildRegistry({ capabilities }), {
      instanceOf: ConfigurationError,
      message: /^capability 'crm' contributed /u,
    });
    t.regex(error?.message ?? "", reason);
  });
}

test("a capability of another shape is refused by its position", (t) => {
  for (const given of [null, "crm", { name: "crm" }, { tools: [] }]) {
    t.throws(() => buildRegistry({ capabilities: [given as unknown as Capability] }), {
      instanceOf: ConfigurationError,
      message: /^capabilities\[0\] is .*expected \{ name: "\.\.\.", tools: \[\.\.\.\] \}/u,
    });
  }
});

for (const [title, value, text] of [
  ["a class", class Weather extends Object {}, "the class Weather"],
  ["a bound function", echo.bind(null), "the bound function echo"],
  ["a description", { ...good }, "pass it to defineTool"],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  ["an object that throws when read", hostile(), "an object is neither"],
] as const) {
  test(`${title} among the adopter's tools is refused at its index`, (t) => {
    const error = t.throws(() => buildRegistry({ tools: [echo(), value] }), {
      instanceOf: ConfigurationError,
      message: /^tools\[1\] is not a tool: /u,
    });
    t.true(error?.message.includes(text), error?.message);
  });
}

test("a contributed description runs with its own object as this, and says who contributed it", (t) => {
  const notes = {
    name: "count",
    description: "Counts.",
    count: 0,
    timeoutMs: 50,
    execute(): number {
      this.count += 1;
      return this.count;
    },
  };
  const [built] = buildRegistry({ capabilities: [{ name: "notes", tools: [notes] }] }).tools;
  t.like(built?.descriptor, { capability: "notes", scope: null, timeoutMs: 50 });
  t.is(built?.execute({}, contextOf()), 1);
  t.is(notes.count, 1);
});

test("a description may offer a tool under another name, and inherits the rest", (t) => {
  const inner = defineTool({
    name: "inner",
    description: "i",
    parameters: z.object({ q: z.string() }),
    category: "web",
    execute: ({ q }) => q,
  });
  const tools = [{ name: "outer", description: "o", parameters: [{ name: "q" }], execute: inner }];
  const [built] = buildRegistry({ capabilities: [{ name: "c", tools }] }).tools;
  t.like(built?.descriptor, { name: "outer", category: "web", inputSchema: { required: ["q"] } });
});

test("the set is frozen", (t) => {
  const tools = [echo()];
  const registry = buildRegistry({ tools });
  tools.push(echo(null, "late"));
  t.is(registry.get("late"), undefined);
  t.true(Object.isFrozen(registry) && Object.isFrozen(registry.tools));
  t.true(Object.isFrozen(registry.tools[0]) && Object.isFrozen(registry.tools[0]?.descriptor));
});

const described = fc.record({
  name: fc.string({ minLength: 1, unit: "grapheme" }),
  description: fc.string({ unit: "grapheme" }),
  costUsd: fc.option(fc.float({ min: 0, noNaN: true, noDefaultInfinity: true }), {
    nil: undefined,
  }),
});
const described1 = fc.uniqueArray(described, { selector: ({ name }) => name, maxLength: 6 });

test("the digest is the same for the same descriptors, and for no others", (t) => {
  const digest = (list: readonly { name: string; description: string }[]): string =>
    buildRegistry({ tools: list.map((one) => defineTool({ ...one, execute: () => "" })) }).digest;
  fc.assert(
    fc.property(described1, described1, (one, other) => {
      t.regex(digest(one), /^sha256:[0-9a-f]{64}$/u);
      t.is(digest(one), digest(structuredClone(one)));
      t.is(digest(one) === digest(other), JSON.stringify(one) === JSON.stringify(other));
      if (one.length > 1) t.not(digest(one), digest(one.toReversed()));
    }),
    { numRuns: 50 },
  );
});

test("the digest does not depend on the order of a schema's keys", (t) => {
  const one = echo({ type: "object", properties: { a: {}, b: {} } });
  const other = echo({ properties: { b: {}, a: {} }, type: "object" });
  t.is(buildRegistry({ tools: [one] }).digest, buildRegistry({ tools: [other] }).digest);
});

function hostile(): object {
  return new Proxy(
    {},
    {
      get() {
        throw new Error("not to be read");
      },
    },
  );
}
