import type { ToolDescriptor } from "../../domain/tool.ts";
import { stringifyJson } from "../../internal/json-text.ts";
import { undefinedValue } from "../request.ts";
import { ManifestFormat } from "../v1.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { mcp } from "./mcp.ts";
import { providerNames } from "./names.ts";
import { openAiChat, openAiResponses } from "./openai.ts";
import type { GeneralChoice, ProviderFormat } from "./provider-format.ts";

/** A frozen set of tools in one provider's form. */
export interface RenderedSet {
  /** What goes into the provider's `tools`, as JSON text; tools of the set, in the given order. */
  tools(listed: readonly ToolDescriptor[], isStrict: boolean): string;
  /** The exact name by the provider's name, without a prototype. */
  names(listed: readonly ToolDescriptor[]): Record<string, string>;
  /**
   * What goes into the provider's tool choice, as JSON text; empty where it has no such choice.
   *
   * @param forced the exact name of a tool of the set, or else `auto`, `any`, `required` or `none`
   */
  toolChoice(forced: string): string;
}

const formats: ReadonlyMap<ManifestFormat, ProviderFormat> = new Map([
  [ManifestFormat.OPENAI_CHAT, openAiChat],
  [ManifestFormat.OPENAI_RESPONSES, openAiResponses],
  [ManifestFormat.ANTHROPIC, anthropic],
  [ManifestFormat.GEMINI, gemini],
  [ManifestFormat.MCP, mcp],
]);

const generalChoices: ReadonlyMap<string, GeneralChoice> = new Map([
  ["auto", "auto"],
  ["any", "any"],
  ["required", "any"],
  ["none", "none"],
]);

/**
 * Renders a frozen set of tools for providers. What a tool comes to is made when it is first asked
 * for, and kept.
 *
 * @param set the whole set, hidden tools too, so that a tool's name there does not depend on what
 *   is listed
 * @returns the set in a format; `undefined` for none. It throws REQUEST_INVALID for a number that the
 *   contract does not define
 */
export function createProviderFormats(
  set: readonly ToolDescriptor[],
): (format: ManifestFormat) => RenderedSet | undefined {
  const rendered = new Map<ManifestFormat, RenderedSet>();
  return (format) => {
    if (format === ManifestFormat.UNSPECIFIED) return undefined;
    const provider = formats.get(format);
    if (!provider) throw undefinedValue("format", format);
    const held = rendered.get(format) ?? render(provider, set);
    rendered.set(format, held);
    return held;
  };
}

function render(provider: ProviderFormat, set: readonly ToolDescriptor[]): RenderedSet {
  const names = providerNames(
    set.map(({ name }) => name),
    provider.names,
  );
  const nameOf = (name: string): string => names.get(name) ?? name;
  const loose = new Map<ToolDescriptor, string>();
  const strict = new Map<ToolDescriptor, string>();
  const textOf = (descriptor: ToolDescriptor, isStrict: boolean): string => {
    const held = isStrict ? strict : loose;
    const text =
      held.get(descriptor) ??
      stringifyJson(provider.tool(descriptor, nameOf(descriptor.name), isStrict));
    held.set(descriptor, text);
    return text;
  };

  return Object.freeze({
    tools: (listed: readonly ToolDescriptor[], isStrict: boolean) =>
      provider.list(listed.map((descriptor) => textOf(descriptor, isStrict))),
    names(listed: readonly ToolDescriptor[]) {
      const back = Object.create(null) as Record<string, string>;
      for (const { name } of listed) back[nameOf(name)] = name;
      return back;
    },
    toolChoice(forced: string) {
      const general = names.has(forced) ? undefined : generalChoices.get(forced);
      const choice = general ? provider.general(general) : provider.forceTool(nameOf(forced));
      return choice === null ? "" : stringifyJson(choice);
    },
  });
}
