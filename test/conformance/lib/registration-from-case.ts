import type { RegistrationOptions } from "../../../src/registry/register.ts";

/** What a case says at a tool's registration. */
export interface RegistrationSpec {
  readonly category?: string;
  readonly safety_level?: "safe" | "restricted" | "dangerous";
  readonly cost_usd?: number;
  readonly max_calls_per_invocation?: number;
  readonly visible_to_agents?: boolean;
}

/** The registration that a case describes. */
export function registrationFromCase(said: RegistrationSpec): RegistrationOptions {
  return {
    ...(said.category !== undefined && { category: said.category }),
    ...(said.safety_level !== undefined && { safetyLevel: said.safety_level }),
    ...(said.cost_usd !== undefined && { costUsd: said.cost_usd }),
    ...(said.max_calls_per_invocation !== undefined && {
      maxCallsPerInvocation: said.max_calls_per_invocation,
    }),
    ...(said.visible_to_agents !== undefined && { visibleToAgents: said.visible_to_agents }),
  };
}
