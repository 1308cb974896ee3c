/** What a server knows of itself. */
export interface ServerFacts {
  readonly version: string;
  readonly maxMessageBytes: number;
  readonly maxCallsInFlight: number;
  /** What is offered beyond the contract's minimum; `run` is added where it is. */
  readonly features: readonly string[];
}

/** ServerInfo as a plain object. */
export interface ServerInfoInit {
  readonly version: string;
  readonly contract: string;
  readonly maxMessageBytes: number;
  readonly maxCallsInFlight: number;
  readonly features: string[];
}

/** What the contract's ServerInfo says of a server. */
export function serverInfo(facts: ServerFacts, hasRuns: boolean): ServerInfoInit {
  return Object.freeze({
    version: facts.version,
    contract: "toolport.v1",
    maxMessageBytes: Math.min(facts.maxMessageBytes, 0xffff_ffff),
    maxCallsInFlight: Math.min(facts.maxCallsInFlight, 0xffff_ffff),
    features: [...new Set([...facts.features, ...(hasRuns ? ["run"] : [])])],
  });
}
