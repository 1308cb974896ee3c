import { geminiSchema } from "./gemini-schema.ts";
import { plainRoot } from "./plain-root.ts";
import { jsonList, type ProviderFormat } from "./provider-format.ts";

/** Gemini's generateContent; all tools are declarations of one. It has no strict mode. */
export const gemini: ProviderFormat = {
  names: {
    allowed: /^[a-zA-Z_][a-zA-Z0-9_.-]*$/u,
    character: /^[a-zA-Z0-9_.-]$/u,
    // The API's own pages say 63 in one place and 64 in another.
    maxLength: 63,
  },
  tool(descriptor, name) {
    const parameters = geminiSchema(plainRoot(descriptor.inputSchema).schema);
    return {
      name,
      // Required there.
      description: descriptor.description.trim() === "" ? descriptor.name : descriptor.description,
      ...(parameters === null ? {} : { parameters }),
    };
  },
  list: (tools) => (tools.length === 0 ? "[]" : `[{"functionDeclarations":${jsonList(tools)}}]`),
  forceTool: (name) => ({
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: [name] },
  }),
  general: (choice) => ({ functionCallingConfig: { mode: choice.toUpperCase() } }),
};
