import type { JsonValue } from "./json.ts";

/** A live run as a run-aware tool sees it. */
export interface RunContext {
  readonly id: string;
  /** False from the moment that the run has ended. */
  readonly live: boolean;
  /**
   * Asks the kernel that holds the run: a sub-agent, human input, an approval.
   *
   * @param name which function of the host
   * @param payload its argument
   * @returns the host's answer
   * @throws ToolPortError `HOST_ERROR` with the host's text where it answers with an error,
   *   `RUN_ENDED` once the run is over, and the signal's reason once the call has ended
   */
  ask(name: string, payload?: JsonValue): Promise<JsonValue>;
}
