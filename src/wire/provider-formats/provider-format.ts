import type { JsonObject, JsonValue } from "../../domain/json.ts";
import type { ToolDescriptor } from "../../domain/tool.ts";
import type { NameRule } from "./names.ts";

/** What a model may be told to do, whatever tools there are. */
export type GeneralChoice = "auto" | "any" | "none";

/** How one provider's API takes tools. Pure. */
export interface ProviderFormat {
  /** The rule of its names; `null` where names are taken as they are. */
  readonly names: NameRule | null;
  /**
   * One tool.
   *
   * @param name the provider's name of it
   * @param isStrict whether the schema is rewritten for the provider's strict mode, where it has
   *   one and the schema allows it
   */
  tool(descriptor: ToolDescriptor, name: string, isStrict: boolean): JsonObject;
  /** The whole list, given as the JSON text of its tools. */
  list(tools: readonly string[]): string;
  /** What makes the model call one tool, by the provider's name; `null` where nothing does. */
  forceTool(name: string): JsonValue | null;
  /** What tells the model to choose, to call any tool, or to call none; `null` where nothing does. */
  general(choice: GeneralChoice): JsonValue | null;
}

/** A list as JSON text. */
export function jsonList(items: readonly string[]): string {
  return `[${items.join(",")}]`;
}

/** A member for a description, or none. */
export function said(description: string): { readonly description?: string } {
  return description === "" ? {} : { description };
}
