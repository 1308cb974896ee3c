import type {
  HistoryMessage,
  SelectionContext,
  SelectionState,
} from "../../src/domain/selection.ts";
import type { SelectionConfig } from "../../src/selection/config.ts";
import { createSelector } from "../../src/selection/selector.ts";

/** A tool of that name. */
export function tool(name: string | null): { readonly name: string | null } {
  return { name };
}

/** A context that says nothing but what is given. */
export function context(
  parts: Partial<SelectionState> & {
    readonly role?: string;
    readonly messages?: readonly HistoryMessage[];
  } = {},
): SelectionContext {
  const { role = "", messages = [], ...state } = parts;
  return {
    state: {
      forcedChoice: null,
      resolvedTools: null,
      intent: null,
      query: "",
      extra: {},
      ...state,
    },
    messages,
    role,
  };
}

/** A message that says nothing but what is given. */
export function message(
  parts: Partial<HistoryMessage> & Pick<HistoryMessage, "role">,
): HistoryMessage {
  return { name: "", toolCallId: "", toolCalls: [], text: "", ...parts };
}

/** What a selection comes to in short: names, force, whether decided, and `stage:action`. */
export interface Short {
  readonly tools: readonly (string | null)[];
  readonly force: string | null;
  readonly decided: boolean;
  readonly actions: readonly string[];
  readonly details: readonly string[];
}

/** Selects among tools of these names. */
export async function select(
  config: SelectionConfig,
  names: readonly (string | null)[],
  parts: Parameters<typeof context>[0] = {},
  candidates?: readonly string[],
): Promise<Short> {
  const selection = await createSelector(config).select({
    tools: names.map(tool),
    candidates,
    context: context(parts),
  });
  return {
    tools: selection.tools.map(({ name }) => name),
    force: selection.forcedChoice,
    decided: selection.decided,
    actions: selection.trace.map(({ stage, action }) => `${stage}:${action}`),
    details: selection.trace.map(({ detail }) => detail),
  };
}
