import test from "ava";
import fc from "fast-check";

import { mcp, isMcpMount } from "../../src/mounts/mcp.ts";
import { Lines } from "../../src/mounts/lines.ts";
import { compareLists, listAllPages } from "../../src/mounts/listed-tools.ts";
import { RestartBudget } from "../../src/mounts/restart-budget.ts";

test("however its bytes are cut, a stream has the same lines", (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary" }).map((line) => line.replaceAll(/[\r\n]/gu, ""))),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      fc.constantFrom("\n", "\r\n"),
      (texts, sizes, end) => {
        const bytes = Buffer.from(texts.map((text) => `${text}${end}`).join(""));
        const lines = new Lines(1 << 20);
        const got: string[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          got.push(...lines.take(bytes.subarray(at, at + size)));
          at += size;
        }
        t.deepEqual(got, Buffer.from(texts.join("\n")).toString().split("\n").slice(0, got.length));
        t.is(got.length, texts.length);
        t.is(lines.rest(), "");
      },
    ),
  );
});

test("a line that is too long is refused, and the next is read again", (t) => {
  const lines = new Lines(4);
  t.throws(() => lines.take(Buffer.from("abcde")), { instanceOf: RangeError });
  t.deepEqual(lines.take(Buffer.from("\nab\n")), ["", "ab"]);
});

test("a server is brought back no more often than its bound allows, and later each time", (t) => {
  fc.assert(
    fc.property(
      fc.record({
        limit: fc.integer({ min: 0, max: 6 }),
        withinMs: fc.integer({ min: 1, max: 1000 }),
        delayMs: fc.integer({ min: 0, max: 200 }),
      }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 40 }),
      (options, pauses) => {
        let now = 0;
        const starts: number[] = [];
        const budget = new RestartBudget(options, () => now);
        for (const pause of pauses) {
          now += pause;
          const permit = budget.take();
          if (permit.ok) {
            now += permit.waitMs;
            starts.push(now);
          } else if (options.limit > 0) {
            now += permit.againMs;
            t.true(budget.take().ok);
            starts.push(now);
          }
        }
        for (const [index, start] of starts.entries()) {
          const within = starts.slice(0, index).filter((at) => at > start - options.withinMs);
          t.true(within.length <= options.limit);
        }
      },
    ),
  );
});

test("attempts wait twice as long each time, and not after a long pause", (t) => {
  let now = 0;
  const budget = new RestartBudget({ limit: 4, withinMs: 60_000, delayMs: 100 }, () => now);
  const waits = Array.from({ length: 4 }, () => {
    const permit = budget.take();
    const waitMs = permit.ok ? permit.waitMs : -1;
    now += waitMs;
    return waitMs;
  });
  t.deepEqual(waits, [0, 100, 200, 400]);
  t.deepEqual(budget.take(), { ok: false, againMs: 59_300 });
  now = 70_000;
  t.deepEqual(budget.take(), { ok: true, waitMs: 0 });
});

test("a list that does not end, or is none, is refused", async (t) => {
  let page = 0;
  const endless = (): Promise<{ tools: readonly never[]; nextCursor: string }> =>
    Promise.resolve({ tools: [], nextCursor: String((page += 1)) });
  await t.throwsAsync(listAllPages(endless), { message: /on more than 1000 pages/u });
  await t.throwsAsync(
    listAllPages(() => Promise.resolve({})),
    { message: /without a list of tools/u },
  );
  await t.throwsAsync(
    listAllPages(() => Promise.resolve({ tools: Array.from({ length: 10_001 }, () => null) })),
    { message: /more than 10000 tools/u },
  );
  t.deepEqual(await listAllPages(() => Promise.resolve(undefined)), {
    tools: [],
    warnings: ["it knows no tools/list"],
  });
});

test("lists are compared by what they say, not by how it is written", (t) => {
  const one = { name: "a", inputSchema: { type: "object", title: "A" } };
  const same = { inputSchema: { title: "A", type: "object" }, name: "a" };
  t.deepEqual(compareLists([one], [same]), { added: [], removed: [], changed: [] });
  t.deepEqual(compareLists([one, { name: "b" }], [{ name: "c" }, { ...same, title: "x" }]), {
    added: ["c"],
    removed: ["b"],
    changed: ["a"],
  });
});

test("mcp refuses what it does not understand, naming the option", (t) => {
  for (const [options, message] of [
    [undefined, /mcp was given undefined/u],
    [{}, /neither a command nor a url/u],
    [{ command: "a", url: "http://b" }, /both a command and a url/u],
    [{ command: 3 }, /command is 3, expected text/u],
    [{ command: "" }, /command is "", expected text/u],
    [{ command: "a", arg: [] }, /no option "arg" here: expected any of name, .*args/u],
    [{ command: "a", headers: {} }, /no option "headers" here/u],
    [{ command: "a", args: "b" }, /args is "b", expected an array of strings/u],
    [{ command: "a", env: { KEY: undefined } }, /env\.KEY is undefined, expected text/u],
    [{ command: "a", prefix: 1 }, /prefix is 1/u],
    [{ command: "a", listTimeoutMs: 0 }, /listTimeoutMs is 0, expected a whole number, 1 or more/u],
    [{ command: "a", restart: { limit: -1 } }, /restart\.limit is -1/u],
    [{ command: "a", restart: { max: 1 } }, /restart has no option "max"/u],
    [{ command: "a", restart: 3 }, /restart is 3/u],
    [{ url: "ftp://a" }, /url is no http: or https: address/u],
    [{ url: "a secret" }, /url is no http: or https: address/u],
    [{ url: "http://a", headers: { "a b": "c" } }, /headers\.a b can't be sent/u],
    [{ url: "http://a", headers: { a: "b\nc" } }, /headers\.a can't be sent/u],
    [{ url: "http://a", cwd: "/" }, /no option "cwd" here/u],
  ] as const) {
    t.throws(() => mcp(options as never), { code: "CONFIGURATION", message });
  }
  const mount = mcp({ url: new URL("http://a.example/mcp") });
  t.true(isMcpMount(mount));
  t.true(Object.isFrozen(mount));
  t.false(isMcpMount({ name: "a", tools: [] }));
});
