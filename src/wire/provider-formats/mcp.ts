import { textAt } from "./json-schema.ts";
import { jsonList, type ProviderFormat, said } from "./provider-format.ts";

/** The Model Context Protocol's tools/list: everything as it is. A server there forces nothing. */
export const mcp: ProviderFormat = {
  names: null,
  tool(descriptor, name) {
    const { inputSchema, outputSchema, readOnly, destructive, idempotent, openWorld } = descriptor;
    const annotations = {
      ...(readOnly === null ? {} : { readOnlyHint: readOnly }),
      ...(destructive === null ? {} : { destructiveHint: destructive }),
      ...(idempotent ? { idempotentHint: true } : {}),
      ...(openWorld === null ? {} : { openWorldHint: openWorld }),
    };
    // Structured content is an object there, and so is its schema.
    const isObjectOut = outputSchema !== null && textAt(outputSchema, "type") === "object";
    return {
      name,
      ...said(descriptor.description),
      inputSchema: { ...inputSchema, type: "object" },
      ...(isObjectOut ? { outputSchema } : {}),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    };
  },
  list: jsonList,
  forceTool: () => null,
  general: () => null,
};
