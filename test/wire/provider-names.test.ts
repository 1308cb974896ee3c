import test from "ava";
import fc from "fast-check";
import { anthropic } from "../../src/wire/provider-formats/anthropic.ts";
import { gemini } from "../../src/wire/provider-formats/gemini.ts";
import { providerNames } from "../../src/wire/provider-formats/names.ts";
import { openAiChat } from "../../src/wire/provider-formats/openai.ts";

const providers = [
  ["OpenAI", openAiChat.names, /^[a-zA-Z0-9_-]{1,64}$/u],
  ["Anthropic", anthropic.names, /^[a-zA-Z0-9_-]{1,64}$/u],
  ["Gemini", gemini.names, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,62}$/u],
] as const;

/** Names that come close to one another once they are cleaned. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "A", "_", ".", "/", " ", "-", "1", "é", "\ud800") }),
  fc.string({ unit: "grapheme", maxLength: 200 }),
  fc.constantFrom("__proto__", "constructor", "toString", "a".repeat(64), "a".repeat(65)),
);
const set = fc
  .uniqueArray(name, { maxLength: 40 })
  .map((names) => names.filter((each) => each !== ""));

for (const [provider, rule, allowed] of providers) {
  test(`any set of tools has unique names that ${provider} allows`, (t) => {
    fc.assert(
      fc.property(set, (names) => {
        const found = providerNames(names, rule);
        t.is(found.size, names.length);
        t.is(new Set(found.values()).size, names.length);
        for (const given of found.values()) t.regex(given, allowed);
      }),
    );
    t.pass();
  });

  test(`a name for ${provider} does not depend on the order of the set`, (t) => {
    fc.assert(
      fc.property(set, fc.func(fc.integer()), (names, rank) => {
        const found = providerNames(names, rule);
        const shuffled = names.toSorted((a, b) => rank(a) - rank(b));
        for (const [from, to] of providerNames(shuffled, rule)) t.is(to, found.get(from) ?? "");
      }),
    );
    t.pass();
  });

  test(`what ${provider} allows stays, whatever else is in the set`, (t) => {
    fc.assert(
      fc.property(set, (names) => {
        const found = providerNames([...names, "send_mail", "Send_mail"], rule);
        t.is(found.get("send_mail"), "send_mail");
        t.is(found.get("Send_mail"), "Send_mail");
      }),
    );
    t.pass();
  });
}

test("a name that is not allowed stays readable, and is marked only where it must be", (t) => {
  const names = ["calendar.addEvent", "files/list", "a.b", "a/b", "a_b", "日本", "x".repeat(90)];
  const found = providerNames(names, openAiChat.names);
  t.is(found.get("calendar.addEvent"), "calendar_addEvent");
  t.is(found.get("files/list"), "files_list");
  t.is(found.get("a_b"), "a_b");
  t.regex(found.get("a.b") ?? "", /^a_b_[0-9a-f]{8}$/u);
  t.regex(found.get("a/b") ?? "", /^a_b_[0-9a-f]{8}$/u);
  t.regex(found.get("日本") ?? "", /^tool_[0-9a-f]{8}$/u);
  t.regex(found.get("x".repeat(90)) ?? "", /^x{55}_[0-9a-f]{8}$/u);
});

test("Gemini keeps dots, and is given a start that it takes", (t) => {
  const found = providerNames(["calendar.addEvent", "7zip", "-x"], gemini.names);
  t.is(found.get("calendar.addEvent"), "calendar.addEvent");
  t.is(found.get("7zip"), "_7zip");
  t.is(found.get("-x"), "_-x");
});

test("a name that a plain object would lose is given another", (t) => {
  t.not(providerNames(["__proto__"], openAiChat.names).get("__proto__"), "__proto__");
});
