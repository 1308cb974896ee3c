import test from "ava";
import fc from "fast-check";
import type { SelectionConfig, StageAnswer } from "../../src/selection/config.ts";
import type { SelectionRequest } from "../../src/selection/begin.ts";
import type { Selection } from "../../src/selection/selector.ts";
import { createSelector } from "../../src/selection/selector.ts";
import { context, message } from "./helpers.ts";

interface Named {
  readonly name: string;
}

// Few names, so that they meet; some of them are traps.
const name: fc.Arbitrary<string> = fc.constantFrom(
  "a",
  "b",
  "c",
  "any",
  "none",
  "__proto__",
  "constructor",
  "hydrate_context",
);
const names = fc.uniqueArray(name);
const maybeStranger: fc.Arbitrary<string> = fc.oneof(name, fc.constantFrom("ghost", ""));
const list = fc.array(maybeStranger, { maxLength: 6 });
const forced = fc.option(fc.oneof(maybeStranger, fc.constant("required")), { nil: null });

const answer: fc.Arbitrary<unknown> = fc.oneof(
  list,
  fc.constant(null),
  fc.record({ tools: fc.option(list), forcedChoice: forced }, { requiredKeys: [] }),
  fc.anything(),
);

const config = fc.record({
  intent: fc.option(
    fc.record({
      mode: fc.constantFrom("off" as const, "observe" as const, "enforce" as const),
      triggerKeywords: fc.dictionary(name, fc.constantFrom([], ["k"])),
    }),
    { nil: undefined },
  ),
  forcedChoice: fc.oneof(forced, fc.anything()),
  palettes: fc.option(
    fc.oneof(
      fc.dictionary(fc.constantFrom("reader", "writer"), list),
      answer.map((value) => () => value as never),
    ),
    { nil: undefined },
  ),
  answers: fc.array(answer, { maxLength: 3 }),
});

const history = fc.array(
  fc.oneof(
    fc.record({ role: fc.constant("tool" as const), name: maybeStranger }),
    fc.record({ role: fc.constantFrom("user" as const, "assistant" as const) }),
  ),
  { maxLength: 4 },
);

const request = fc.record({
  tools: names,
  candidates: fc.option(list, { nil: undefined }),
  forcedChoice: forced,
  resolvedTools: fc.option(list, { nil: null }),
  intent: fc.option(
    fc.record({
      label: fc.constantFrom("action", "knowledge", "ambiguous", "banter"),
      matchedTools: list,
    }),
    { nil: null },
  ),
  role: fc.constantFrom("", "reader", "writer"),
  messages: history,
});

type Drawn<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

function selectorOf({ answers, forcedChoice, ...rest }: Drawn<typeof config>) {
  const made: SelectionConfig = {
    ...rest,
    forcedChoice: () => forcedChoice as never,
    stages: answers.map((value, i) => ({
      name: `stage ${i}`,
      // Half of them async.
      select: () => (i % 2 === 0 ? value : Promise.resolve(value)) as StageAnswer,
    })),
    stageTimeoutMs: 50,
  };
  return createSelector(made);
}

function requestOf(drawn: Drawn<typeof request>): SelectionRequest<Named> {
  const { tools, candidates, messages, ...parts } = drawn;
  return {
    tools: tools.map((each) => ({ name: each })),
    candidates,
    context: context({ ...parts, messages: messages.map(message) }),
  };
}

function holds(
  title: string,
  check: (drawn: Drawn<typeof request>, found: Selection<Named>) => boolean,
): void {
  test(title, async (t) => {
    await fc.assert(
      fc.asyncProperty(config, request, async (drawnConfig, drawn) =>
        check(drawn, await selectorOf(drawnConfig).select(requestOf(drawn))),
      ),
    );
    t.pass();
  });
}

holds(
  "a selection never names a tool that it was not handed, and none twice",
  (drawn, { tools }) => {
    const handed = new Set(drawn.candidates ?? drawn.tools);
    const found = tools.map((tool) => tool.name);
    return (
      new Set(found).size === found.length &&
      found.every((each) => handed.has(each) && drawn.tools.includes(each))
    );
  },
);

holds("a force can always be satisfied by the tools selected", (_, { forcedChoice, tools }) => {
  if (forcedChoice === null) return true;
  const isReserved = ["any", "auto", "none", "required"].includes(forcedChoice);
  return tools.some((tool) => tool.name === forcedChoice) || (isReserved && tools.length > 0);
});

holds(
  "a selection is undecided exactly where every stage abstained",
  (_, { decided, trace }) => decided === trace.some(({ action }) => action !== "abstained"),
);

holds(
  "records are disjoint, sum up to their input, and lead to the result",
  (drawn, { tools, trace }) => {
    const handed = (drawn.candidates ?? drawn.tools).filter((each) => drawn.tools.includes(each));
    const settled = drawn.resolvedTools ?? [];
    const first = settled.length === 0 ? handed : settled.filter((each) => handed.includes(each));
    let standing = [...new Set(first)];
    for (const { kept, dropped, added, reinstated, action } of trace) {
      const isSilent = kept.length + dropped.length + added.length === 0;
      const isChanging = !["abstained", "degraded"].includes(action);
      const parts = [...kept, ...dropped, ...added, ...reinstated];
      if (new Set(parts).size !== parts.length) return false;
      if (!isChanging && parts.length > 0) return false;
      // A stage that newly forces a tool may bring one back that was not in its input.
      const back = reinstated.filter((each) => standing.includes(each));
      const input = [...kept, ...dropped, ...back];
      if (!isSilent && !sameMembers(input, standing)) return false;
      if (added.some((each) => standing.includes(each))) return false;
      const stays = isSilent && back.length === 0 ? standing : [...kept, ...added];
      standing = [...stays, ...reinstated];
    }
    return sameMembers(
      standing,
      tools.map((tool) => tool.name),
    );
  },
);

test("the same request gives the same selection, whatever was selected before", async (t) => {
  await fc.assert(
    fc.asyncProperty(config, request, request, async (drawnConfig, one, other) => {
      const selector = selectorOf(drawnConfig);
      const first = await selector.select(requestOf(one));
      const between = selector.select(requestOf(other));
      t.deepEqual(await selector.select(requestOf(one)), first);
      t.deepEqual(await selectorOf(drawnConfig).select(requestOf(other)), await between);
    }),
  );
});

function sameMembers(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
