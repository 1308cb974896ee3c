import type { SelectionConfig } from "../../../src/selection/config.ts";

/** What a selection case says of resolvers and routing. */
export interface SelectionSpec {
  readonly force_resolver?: Script;
  readonly palette?: Script;
  readonly intent?: {
    readonly mode?: "off" | "observe" | "enforce";
    readonly trigger_keywords?: Readonly<Record<string, readonly string[]>>;
    readonly always_include?: readonly string[];
  };
}

/** A resolver with a script. */
interface Script {
  readonly kind: string;
  readonly value?: unknown;
  readonly names?: readonly string[];
  readonly error?: string;
  readonly message?: string;
  readonly role_tools?: Readonly<Record<string, readonly string[]>>;
}

/** The configuration of the selection that a case describes. */
export function selectionFromCase({
  intent,
  force_resolver: force,
  palette,
}: SelectionSpec): SelectionConfig {
  return {
    ...(intent && {
      intent: {
        mode: intent.mode,
        triggerKeywords: intent.trigger_keywords,
        alwaysInclude: intent.always_include,
      },
    }),
    ...(force && { forcedChoice: resolverOf(force) as never }),
    ...(palette && { palettes: palette.role_tools ?? (resolverOf(palette) as never) }),
  };
}

function resolverOf(script: Script): unknown {
  const answer = "names" in script ? script.names : script.value;
  switch (script.kind) {
    case "returns":
      return { resolve: async () => answer };
    case "sync":
      return () => answer;
    case "raises":
      return {
        resolve: async () => {
          const error = new Error(script.message ?? "");
          error.name = script.error ?? "Error";
          throw error;
        },
      };
    case "no_method":
      return Object.create({}) as unknown;
    default:
      throw new Error(`a resolver of kind ${script.kind} is new; teach it here`);
  }
}
