import test, { type ExecutionContext } from "ava";
import { z } from "zod";
import { defineTool } from "../../src/registry/define-tool.ts";
import { buildRegistry } from "../../src/registry/build-registry.ts";
import {
  type ManifestRequest,
  ManifestFormat as Format,
  type ManifestResponse,
} from "../../src/wire/v1.ts";
import { callTool, clientOf, startServer } from "../server/world.ts";

type Asked = Partial<Pick<ManifestRequest, "includeHidden" | "query" | "strict">> & {
  readonly names?: { readonly names: string[] };
};

const tools = [
  defineTool({
    name: "send.mail",
    description: "Send a mail.",
    parameters: z.object({
      to: z.string().describe("Whom."),
      copies: z.number().int().min(1).default(1),
      note: z.string().nullable(),
    }),
    readOnly: false,
    openWorld: true,
    idempotent: true,
    execute: (args) => JSON.stringify(args),
  }),
  defineTool({ name: "status", description: "", execute: () => "fine" }),
  defineTool({
    name: "any",
    description: "Bears a reserved word.",
    visibility: "hidden",
    parameters: z.object({ q: z.string() }),
    execute: () => "",
  }),
  defineTool({
    name: "edit",
    description: "Add or drop.",
    parameters: z.discriminatedUnion("op", [
      z.object({ op: z.literal("add"), amount: z.number() }),
      z.object({ op: z.literal("drop"), id: z.string() }),
    ]),
    execute: (args) => JSON.stringify(args),
  }),
];

async function manifestOf(
  t: ExecutionContext,
  format: Format,
  asked: Asked = {},
): Promise<{ readonly tools: unknown; readonly response: ManifestResponse }> {
  const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
  const response = await client.manifest({ format, ...asked });
  return { tools: JSON.parse(response.providerToolsJson), response };
}

function titleOf(format: Format): string {
  return Object.entries(Format).find(([, number]) => number === format)?.[0] ?? "";
}

const mailSchema = {
  type: "object",
  properties: {
    to: { type: "string", description: "Whom." },
    copies: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 },
    note: { type: ["string", "null"] },
  },
  required: ["to", "note"],
};

const strictMailSchema = {
  type: "object",
  properties: {
    to: { type: "string", description: "Whom." },
    copies: {
      type: ["integer", "null"],
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "(default: 1)",
    },
    note: { type: ["string", "null"] },
  },
  required: ["to", "copies", "note"],
  additionalProperties: false,
};

const noParameters = { type: "object", properties: {} };

test("a manifest for OpenAI's chat completions is what goes into its tools", async (t) => {
  const only = { names: { names: ["send.mail", "status"] } };
  const { tools: listed, response } = await manifestOf(t, Format.OPENAI_CHAT, only);
  t.deepEqual(listed, [
    {
      type: "function",
      function: {
        name: "send_mail",
        description: "Send a mail.",
        parameters: mailSchema,
        strict: false,
      },
    },
    { type: "function", function: { name: "status", parameters: noParameters, strict: false } },
  ]);
  t.deepEqual({ ...response.providerNames }, { send_mail: "send.mail", status: "status" });
});

test("a strict one for OpenAI's responses has every schema strict that can be", async (t) => {
  const { tools: listed } = await manifestOf(t, Format.OPENAI_RESPONSES, { strict: true });
  t.deepEqual(listed, [
    {
      type: "function",
      name: "send_mail",
      description: "Send a mail.",
      parameters: strictMailSchema,
      strict: true,
    },
    {
      type: "function",
      name: "status",
      parameters: { ...noParameters, required: [], additionalProperties: false },
      strict: true,
    },
    {
      type: "function",
      name: "edit",
      description: "Add or drop.",
      parameters: (listed as { parameters: object }[])[2]?.parameters,
      strict: false,
    },
  ]);
});

test("what a model says to a strict schema runs, null being absent", async (t) => {
  const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
  const call = await callTool(client, "send.mail", '{"to":"a","copies":null,"note":null}');
  t.deepEqual(JSON.parse(call.result ?? call.error ?? ""), { to: "a", copies: 1, note: null });
});

for (const format of [Format.OPENAI_CHAT, Format.ANTHROPIC, Format.GEMINI]) {
  test(`a union at the root becomes an object with every member for ${titleOf(format)}`, async (t) => {
    const only = { names: { names: ["edit"] } };
    const { response } = await manifestOf(t, format, only);
    const text = response.providerToolsJson;
    for (const part of ["op", "amount", "id", "add", "drop"]) t.true(text.includes(`"${part}"`));
    const [tool] = JSON.parse(text);
    const schema =
      tool.function?.parameters ?? tool.input_schema ?? tool.functionDeclarations[0].parameters;
    t.is(schema.type.toLowerCase(), "object");
    t.deepEqual(schema.required, ["op"]);
    t.deepEqual(
      ["anyOf", "oneOf", "allOf"].filter((key) => key in schema),
      [],
    );
    t.regex(schema.description, /one ?Of/iu);
    t.deepEqual(Object.keys(schema.properties), ["op", "amount", "id"]);
  });
}

test("a manifest for Anthropic is what goes into its tools", async (t) => {
  const { tools: listed } = await manifestOf(t, Format.ANTHROPIC, { query: "MAIL" });
  t.deepEqual(listed, [
    { name: "send_mail", description: "Send a mail.", input_schema: mailSchema },
  ]);
});

test("a manifest for Gemini is what goes into its tools", async (t) => {
  const only = { names: { names: ["send.mail", "status"] } };
  const { tools: listed, response } = await manifestOf(t, Format.GEMINI, only);
  t.deepEqual(listed, [
    {
      functionDeclarations: [
        {
          name: "send.mail",
          description: "Send a mail.",
          parameters: {
            type: "OBJECT",
            properties: {
              to: { type: "STRING", description: "Whom." },
              copies: {
                type: "INTEGER",
                minimum: 1,
                maximum: Number.MAX_SAFE_INTEGER,
                description: "(default: 1)",
              },
              note: { type: "STRING", nullable: true },
            },
            required: ["to", "note"],
          },
        },
        { name: "status", description: "status" },
      ],
    },
  ]);
  t.deepEqual(response.providerNames["send.mail"], "send.mail");
});

test("a manifest for MCP is a list of its tools, names and all as they are", async (t) => {
  const only = { names: { names: ["send.mail", "status"] } };
  const { tools: listed } = await manifestOf(t, Format.MCP, only);
  t.deepEqual(listed, [
    {
      name: "send.mail",
      description: "Send a mail.",
      inputSchema: mailSchema,
      annotations: { readOnlyHint: false, idempotentHint: true, openWorldHint: true },
    },
    { name: "status", inputSchema: noParameters },
  ]);
});

test("hidden tools are left out unless asked for, and none is an empty list", async (t) => {
  for (const format of [Format.OPENAI_CHAT, Format.ANTHROPIC, Format.GEMINI, Format.MCP]) {
    const shown = await manifestOf(t, format);
    t.false("any" in shown.response.providerNames);
    t.false(shown.response.providerToolsJson.includes("reserved word"));
    const all = await manifestOf(t, format, { includeHidden: true });
    t.is(all.response.providerNames["any"], "any");
    t.true(all.response.providerToolsJson.includes("reserved word"));
    const empty = await manifestOf(t, format, { names: { names: [] } });
    t.deepEqual(empty.tools, []);
  }
});

test("without a format nothing is rendered, and a number of no format is refused", async (t) => {
  const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
  const { providerToolsJson, providerNames } = await client.manifest({ strict: true });
  t.is(providerToolsJson, "");
  t.deepEqual({ ...providerNames }, {});
  await t.throwsAsync(client.manifest({ format: 99 as Format }), { message: /format is 99/u });
});

/** What each provider takes for a tool, and for the reserved words. */
const choices: readonly (readonly [Format, unknown, unknown, unknown, unknown])[] = [
  [
    Format.OPENAI_CHAT,
    { type: "function", function: { name: "send_mail" } },
    "required",
    "auto",
    "none",
  ],
  [Format.OPENAI_RESPONSES, { type: "function", name: "send_mail" }, "required", "auto", "none"],
  [
    Format.ANTHROPIC,
    { type: "tool", name: "send_mail" },
    { type: "any" },
    { type: "auto" },
    { type: "none" },
  ],
  [
    Format.GEMINI,
    { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["send.mail"] } },
    { functionCallingConfig: { mode: "ANY" } },
    { functionCallingConfig: { mode: "AUTO" } },
    { functionCallingConfig: { mode: "NONE" } },
  ],
];

for (const [format, tool, required, auto, none] of choices) {
  test(`Select renders its forced choice for ${titleOf(format)}`, async (t) => {
    const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
    const choose = async (forcedChoice: string): Promise<unknown> => {
      const { providerToolChoiceJson } = await client.select({ state: { forcedChoice }, format });
      return providerToolChoiceJson === "" ? "" : JSON.parse(providerToolChoiceJson);
    };
    t.deepEqual(await choose("send.mail"), tool);
    t.deepEqual(await choose("required"), required);
    t.deepEqual(await choose("auto"), auto);
    t.deepEqual(await choose("none"), none);
    t.is(await choose("nobody"), "");
    t.is((await client.select({ format })).providerToolChoiceJson, "");
    t.is((await client.select({ state: { forcedChoice: "auto" } })).providerToolChoiceJson, "");
  });
}

test("a tool that bears a reserved word is forced as the tool that it is", async (t) => {
  const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
  const format = Format.ANTHROPIC;
  const { providerToolChoiceJson } = await client.select({
    state: { forcedChoice: "any" },
    format,
  });
  t.deepEqual(JSON.parse(providerToolChoiceJson), { type: "tool", name: "any" });
});

test("MCP has no tool choice", async (t) => {
  const client = clientOf(await startServer(t, {}, { registry: buildRegistry({ tools }) }));
  const state = { forcedChoice: "status" };
  t.is((await client.select({ state, format: Format.MCP })).providerToolChoiceJson, "");
});
