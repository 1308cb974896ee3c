import type { ContentPart } from "./call.ts";
import type { JsonObject, JsonSchema, JsonValue } from "./json.ts";
import type { RunContext } from "./run.ts";

/**
 * A reading of one tool: plain data, equal by value, deeply frozen. What the author did not state
 * is `null`, never a default.
 */
export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  /** The first line of the description that is not blank, trimmed; may be empty. */
  readonly summary: string;
  /** `name: summary`, or the bare name where there is no summary. */
  readonly manifestEntry: string;
  /** Left out of the manifest unless asked for; selection and execution ignore it. */
  readonly hidden: boolean;
  /** JSON Schema of the arguments; the very schema that validates. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly category: string | null;
  readonly safetyLevel: string | null;
  readonly costUsd: number | null;
  readonly requires: string | null;
  readonly maxCallsPerInvocation: number | null;
  readonly scope: string | null;
  readonly routingMode: string | null;
  /** The tool's own time limit in milliseconds, counted from its start. */
  readonly timeoutMs: number | null;
  readonly runAware: boolean;
  readonly idempotent: boolean;
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
  readonly openWorld: boolean | null;
  /** The capability that contributed the tool; empty for the adopter's own. */
  readonly capability: string;
}

/** What a tool is given beside its arguments. */
export interface ToolContext {
  /** The run that the call belongs to; empty where it stands alone. */
  readonly runId: string;
  /** The kernel's id of this call, unique in its run. */
  readonly callId: string;
  /** The name that the tool was called by. */
  readonly toolName: string;
  /** Counted from 1; above 1 where an idempotent tool runs again after a lost attempt. */
  readonly attempt: number;
  /**
   * The same text for every attempt of this call and for no other call: pass it on to services
   * that deduplicate by such a key.
   */
  readonly idempotencyKey: string;
  /**
   * Fires when the caller cancels or goes away, when a deadline or a time limit passes, and when
   * the process drains. Its `reason` says which.
   */
  readonly signal: AbortSignal;
  /** What the kernel sent along; never stored. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The live run; present exactly where the tool is declared run-aware. */
  readonly run: RunContext | undefined;
  /**
   * Reports how far the tool has come.
   *
   * @param done how much is done, in the tool's own unit
   * @param total of how much, in the same unit; left out where it is not known
   * @param message a line for people
   */
  progress(done: number, total?: number, message?: string): void;
  /**
   * Sends partial output at once: a string as it is, bytes and content parts as content, anything
   * else as JSON. Await it to go no faster than the caller reads.
   *
   * @throws the signal's reason once the signal has fired
   */
  output(value: JsonValue | Uint8Array | ContentPart): Promise<void>;
}

/** What checking a call's arguments came to. */
export type ArgumentCheck =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      /** A sentence that names each path and what was expected there. */
      readonly message: string;
    };

/** How one tool may run; what is absent is up to the process. */
export interface ToolLimits {
  /** Time limit in milliseconds from the tool's start; progress starts it anew. */
  readonly timeoutMs: number | null;
  /** Hard cap in milliseconds from the tool's start, whatever the progress. */
  readonly maxTimeoutMs: number | null;
  /** How many calls of this tool may run at once. */
  readonly concurrency: number | null;
  /** `worker`: the body runs in a worker thread that can be terminated. */
  readonly isolate: "worker" | null;
  /** `spill`: a result over the limit goes to a file whose URI is the content. */
  readonly largeResults: "refuse" | "spill";
}

/** A tool as the registry holds it: read, bound and frozen. */
export interface Tool {
  readonly descriptor: ToolDescriptor;
  readonly limits: ToolLimits;
  /** The adopter's own object, untouched. */
  readonly source: unknown;
  /**
   * Checks parsed arguments against the advertised schema, without coercion, then by the library
   * that made the schema. Never throws. The value that it returns is the tool's own copy.
   */
  check(args: JsonObject): ArgumentCheck | Promise<ArgumentCheck>;
  /** Runs the body: a value, a promise, or a sync or async iterable. May throw. */
  execute(args: unknown, context: ToolContext): unknown;
}

/** The frozen set of tools: in order, and by exact name. */
export interface Registry {
  readonly tools: readonly Tool[];
  /** `sha256:` and the hexadecimal SHA-256 of the canonical JSON of the descriptors in order. */
  readonly digest: string;
  get(name: string): Tool | undefined;
}
