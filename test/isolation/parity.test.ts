import test from "ava";

import { createExecutor } from "../../src/execution/executor.ts";
import { ask, requestOf } from "../execution/world.ts";
import { lastingWorld, registry } from "./world.ts";

const { executor, isolation } = lastingWorld();
test.after.always(async () => isolation.close());
const here = createExecutor({ registry });

/** A call in a thread reads exactly as the same call in the process does. */
const same = test.macro({
  async exec(t, name: string, argumentsJson: string = "{}") {
    const request = requestOf(name, { argumentsJson, callId: "c", metadata: { who: "Ada" } });
    const expected = ask(here, request);
    const actual = ask(executor, request);
    t.deepEqual(readable(await actual.outcome()), readable(await expected.outcome()));
    t.deepEqual(readable(actual.events), readable(expected.events));
  },
  title: (_given, name: string, argumentsJson?: string) =>
    `${[name, argumentsJson].filter(Boolean).join(" with ")} comes to the same in a thread as in the process`,
});

/** Without what differs between any two calls; bytes as bytes, whatever view they are held in. */
function readable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) => {
      if (key === "durationMs") return 0;
      if (key !== "data") return member;
      return Buffer.from(member as Uint8Array).toString("latin1");
    }),
  );
}

for (const name of [
  "words",
  "nothing",
  "digits",
  "dated",
  "bytes",
  "buffer",
  "part",
  "link",
  "blob",
  "cyclic",
  "getter",
  "functions",
  "throws-error",
  "throws-named",
  "throws-class",
  "throws-text",
  "throws-object",
  "throws-many",
  "throws-abort",
  "throws-progress",
  "counts",
  "concludes",
  "stumbles",
  "unwritable",
  "hands",
  "outputs",
  "context",
]) {
  test(same, name);
}
test(same, "echo", '{"id":9007199254740993,"nested":{"__proto__":[1.5,null,"é\\u0000"]}}');
test(same, "context", '{"deep":{"er":true}}');
test(same, "visit", '{"url":"https://example.com/a"}');
test(same, "visit", '{"url":7}');
