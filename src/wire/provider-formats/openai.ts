import type { JsonObject, JsonValue } from "../../domain/json.ts";
import type { ToolDescriptor } from "../../domain/tool.ts";
import type { NameRule } from "./names.ts";
import { plainRoot } from "./plain-root.ts";
import { jsonList, type ProviderFormat, said } from "./provider-format.ts";
import { type StrictRules, strictSchema } from "./strict-schema.ts";

/** The names that OpenAI takes. */
const names: NameRule = {
  allowed: /^[a-zA-Z0-9_-]+$/u,
  character: /^[a-zA-Z0-9_-]$/u,
  maxLength: 64,
};

const keywords: ReadonlySet<string> = new Set([
  ...["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minItems", "maxItems"],
]);

const formats: ReadonlySet<JsonValue> = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
]);

const strictRules: StrictRules = {
  isAllRequired: true,
  isRecursionAllowed: true,
  keeps: (key, value) => {
    if (key === "format") return formats.has(value);
    if (key === "pattern") return typeof value === "string" && isPlainPattern(value);
    return keywords.has(key) && typeof value !== "boolean";
  },
  most: {
    depth: 10,
    properties: 5000,
    enumValues: 1000,
    shortEnumValues: 250,
    longEnumCharacters: 15_000,
    characters: 120_000,
  },
};

/** Looking around and back is beyond a grammar. */
function isPlainPattern(pattern: string): boolean {
  return !/\(\?|\\[bB1-9pPk]/u.test(pattern);
}

/** OpenAI's chat completions. */
export const openAiChat: ProviderFormat = {
  names,
  tool: (descriptor, name, isStrict) => ({
    type: "function",
    function: openAiFunction(descriptor, name, isStrict),
  }),
  list: jsonList,
  forceTool: (name) => ({ type: "function", function: { name } }),
  general: (choice) => (choice === "any" ? "required" : choice),
};

/** OpenAI's responses. */
export const openAiResponses: ProviderFormat = {
  ...openAiChat,
  tool: (descriptor, name, isStrict) => ({
    type: "function",
    ...openAiFunction(descriptor, name, isStrict),
  }),
  forceTool: (name) => ({ type: "function", name }),
};

function openAiFunction(descriptor: ToolDescriptor, name: string, isStrict: boolean): JsonObject {
  const { schema, isUnion } = plainRoot(descriptor.inputSchema);
  const strict = isStrict && !isUnion ? strictSchema(schema, strictRules) : null;
  return {
    name,
    ...said(descriptor.description),
    parameters: strict ?? schema,
    // Said even where it is false: the responses API takes silence for true.
    strict: strict !== null,
  };
}
