import type { SelectionContext } from "../domain/selection.ts";
import type { ToolDescriptor } from "../domain/tool.ts";

/** How tools are selected; every part may be left out. */
export interface SelectionConfig {
  /** Narrowing by the kernel's intent verdict; left out: there is no such stage. */
  readonly intent?: IntentRouting | undefined;
  /** Asked which tool the model must choose where the kernel's state bears no stamp. */
  readonly forcedChoice?: ForcedChoiceResolver | undefined;
  /** Which tools a role is offered: a table by role, or whoever knows. */
  readonly palettes?: PaletteTable | PaletteResolver | undefined;
  /** The adopter's own stages; they come last, in this order. */
  readonly stages?: readonly Stage[] | undefined;
  /** How long a resolver or stage may take, in milliseconds; 10,000 by default. */
  readonly stageTimeoutMs?: number | undefined;
}

/** How tools are narrowed by intent. */
export interface IntentRouting extends IntentRules {
  /** `enforce` by default; `observe` only says in the trace what it would have dropped. */
  readonly mode?: "off" | "observe" | "enforce" | undefined;
}

/** Which tools an intent lets through. */
export interface IntentRules {
  /** Keywords by tool name. A tool without any is not gated by an `action` verdict. */
  readonly triggerKeywords?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Tools that no verdict drops; `["hydrate_context"]` by default. */
  readonly alwaysInclude?: readonly string[] | undefined;
}

/** Tool names by role. A role that is not listed has no palette; an empty list is a mistake. */
export type PaletteTable = Readonly<Record<string, readonly string[]>>;

/** Answers with a tool's name or a reserved word; `null` or `undefined` abstains, `""` is no force. */
export type ForcedChoiceResolver = Resolver<string | null | undefined>;

/** Answers with names, in the order to offer them; `null` or `undefined` abstains, `[]` is none. */
export type PaletteResolver = Resolver<readonly string[] | null | undefined>;

/** A function, or an object with such a method; may be async. */
export type Resolver<Answer> =
  | ((input: StageInput) => Answer | PromiseLike<Answer>)
  | { resolve(input: StageInput): Answer | PromiseLike<Answer> };

/** A stage of the adopter's own. */
export interface Stage {
  /** Stands in the trace; not empty, unique, and none of the built-in stages' names. */
  readonly name: string;
  /** Says what it wants changed; may be async. One that throws changes nothing. */
  select(input: StageInput): StageAnswer | PromiseLike<StageAnswer>;
}

/**
 * What a stage wants: names in the order to offer them, or more than that; `null` or `undefined`
 * abstains. Names of candidates that an earlier stage dropped bring those back.
 */
export type StageAnswer =
  | readonly string[]
  | {
      /** Left out or `null`: no statement about the set. */
      readonly tools?: readonly string[] | null | undefined;
      /** Forces this choice; `null` or `""` lifts the standing one; left out: no statement. */
      readonly forcedChoice?: string | null | undefined;
      /** Why, for the trace. */
      readonly detail?: string | undefined;
    }
  | null
  | undefined;

/** What resolvers and stages are given; all but the signal is a deeply frozen copy. */
export interface StageInput extends SelectionContext {
  /** The tools that stand so far, in order. */
  readonly tools: readonly StageTool[];
  /** The tools that selection began with: those that may be forced or brought back. */
  readonly candidates: readonly StageTool[];
  /** The choice that stands so far. */
  readonly forcedChoice: string | null;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A tool as a stage sees it: its plain data. Tools of the registry have all of a descriptor. */
export type StageTool = { readonly name: string | null } & Partial<Omit<ToolDescriptor, "name">>;
