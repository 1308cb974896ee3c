import test from "ava";
import type { ToolsInput } from "../../src/define-tools.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { type SelectResponse, StageAction } from "../../src/wire/v1.ts";
import { clientOf, protocols } from "../server/world.ts";
import { type Field, serveField } from "./world.ts";

const names = ["search", "book", "pay"];
const tools = names.map((name) => defineTool({ name, description: name, execute: () => "" }));
const hidden = defineTool({
  name: "delete_all",
  description: "d",
  visibility: "hidden",
  execute: () => "",
});

interface Answer {
  readonly tools: readonly string[] | undefined;
  readonly decided: boolean | undefined;
  readonly forced: string | undefined;
  readonly actions: Readonly<Record<string, string>>;
  readonly details: string;
}

function read({ result }: SelectResponse): Answer {
  const trace = result?.trace ?? [];
  const titleOf = (action: StageAction): string =>
    Object.entries(StageAction).find(([, number]) => number === action)?.[0] ?? "";
  return {
    tools: result?.tools,
    decided: result?.decided,
    forced: result?.forcedChoice,
    actions: Object.fromEntries(trace.map(({ stage, action }) => [stage, titleOf(action)])),
    details: trace.map(({ detail }) => detail).join("\n"),
  };
}

const palette = (answer: unknown): Pick<ToolsInput, "palettes"> => ({
  palettes: { resolve: () => answer as never },
});

async function selectWith(field: Field, state: object = {}, role = "action"): Promise<Answer> {
  return read(await field.client.select({ role, state }));
}

for (const [title, answer, expected] of [
  ["an empty list", [], { tools: [], decided: true, action: "EMPTIED" }],
  ["null", null, { tools: names, decided: false, action: "ABSTAINED" }],
  ["unknown names alone", ["ghost"], { tools: names, decided: true, action: "DEGRADED" }],
] as const) {
  test(`B69 a palette of ${title} is told from the others`, async (t) => {
    const field = await serveField(t, { tools, ...palette(answer) });
    const selected = await selectWith(field);
    t.deepEqual(selected.tools, expected.tools as never);
    t.is(selected.actions["role_palette"], expected.action);
    t.is(selected.decided, expected.decided);
    if (answer?.length === 1) t.regex(selected.details, /ghost/u);
  });
}

test("B70 without a palette for the role all tools flow on", async (t) => {
  const bare = await serveField(t, { tools });
  const mapped = await serveField(t, { tools, palettes: { cook: ["pay"] } });
  const explicit = await serveField(t, { tools, ...palette([]) });
  for (const [field, role] of [
    [bare, undefined],
    [bare, ""],
    [bare, "cook"],
    [mapped, undefined],
    [mapped, ""],
    [mapped, "nobody"],
  ] as const) {
    const selected = read(await field.client.select(role === undefined ? {} : { role }));
    t.deepEqual(selected.tools, names);
    t.false(selected.decided);
  }
  t.deepEqual((await selectWith(mapped, {}, "cook")).tools, ["pay"]);
  t.deepEqual((await selectWith(explicit, {}, "cook")).tools, []);
});

test("B72 a forced tool that is not registered is no force", async (t) => {
  const field = await serveField(t, { tools });
  for (const forcedChoice of ["delete_all", "Search"]) {
    const selected = await selectWith(field, { forcedChoice });
    t.is(selected.forced, undefined);
    t.is(selected.actions["forced_choice"], "DEGRADED");
    t.deepEqual(selected.tools, names);
  }
});

test("B72 a forced tool outside the palette is reinstated last", async (t) => {
  const field = await serveField(t, { tools, palettes: { cook: ["pay", "book"] } });
  const selected = await selectWith(field, { forcedChoice: "search" }, "cook");
  t.is(selected.forced, "search");
  t.deepEqual(selected.tools?.at(-1), "search");
  t.is(selected.tools?.length, 3);
});

test("B72 a hidden tool may be forced", async (t) => {
  const field = await serveField(t, { tools: [...tools, hidden] });
  const selected = await selectWith(field, { forcedChoice: "delete_all" });
  t.is(selected.forced, "delete_all");
  t.true(selected.tools?.includes("delete_all"));
});

for (const word of ["any", "required", "auto", "none"]) {
  test(`B72 with no tool to call, ${word} is no force`, async (t) => {
    const field = await serveField(t, { tools });
    const request = { candidates: { names: [] }, state: { forcedChoice: word } };
    const selected = read(await field.client.select(request));
    t.deepEqual(selected.tools, []);
    t.is(selected.forced, undefined);
    t.is(selected.actions["forced_choice"], "DEGRADED");
  });
}

test("B73 a forced choice is of its own request alone", async (t) => {
  const field = await serveField(t, { tools });
  t.is((await selectWith(field, { forcedChoice: "search" })).forced, "search");
  t.is((await selectWith(field)).forced, undefined);
  const many = Array.from({ length: 60 }, (_, index) => names[index % 3] ?? "");
  const answers = await Promise.all(
    many.map(async (forcedChoice) => await selectWith(field, { forcedChoice })),
  );
  t.deepEqual(
    answers.map(({ forced }) => forced),
    many,
  );
});

for (const protocol of protocols) {
  test(`B74 no tools decided on and nothing decided differ over ${protocol}`, async (t) => {
    const abstains = clientOf(await serveField(t, { tools: [] }), protocol);
    const decides = clientOf(await serveField(t, { tools, ...palette([]) }), protocol);
    const first = read(await abstains.select({ role: "action" }));
    const second = read(await decides.select({ role: "action" }));
    t.deepEqual([first.tools, first.decided], [[], false]);
    t.deepEqual([second.tools, second.decided], [[], true]);

    const whole = clientOf(await serveField(t, { tools }), protocol);
    t.is((await whole.manifest({})).tools.length, 3);
    t.is((await whole.manifest({ names: { names: [] } })).tools.length, 0);
    t.deepEqual(read(await whole.select({})).tools, names);
    t.deepEqual(read(await whole.select({ candidates: { names: [] } })).tools, []);
  });
}
