/** The statuses that faults travel as, by their gRPC names. */
export type FaultStatus =
  | "INVALID_ARGUMENT"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "FAILED_PRECONDITION"
  | "ALREADY_EXISTS"
  | "ABORTED"
  | "RESOURCE_EXHAUSTED"
  | "UNAVAILABLE"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "UNIMPLEMENTED"
  | "INTERNAL";

/** Every code that a {@link ToolPortError} can bear; those that travel are the fault reasons. */
export type ErrorCode =
  | "CONFIGURATION"
  | "HOST_ERROR"
  | "UNREACHABLE"
  | "CALL_ID_MISSING"
  | "REQUEST_INVALID"
  | "MESSAGE_UNPARSABLE"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "DIGEST_MISMATCH"
  | "RUN_REQUIRED"
  | "RUN_ENDED"
  | "RUN_EXPIRED"
  | "CALL_ID_REUSED"
  | "RUN_TAKEN_OVER"
  | "OVERLOADED"
  | "MESSAGE_TOO_LARGE"
  | "DRAINING"
  | "JOURNAL_UNAVAILABLE"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "UNIMPLEMENTED"
  | "INTERNAL";

/**
 * What each code means: the gRPC status that it travels as, and what to do. A code whose status is
 * `null` never crosses the wire.
 */
export const catalogue: Readonly<
  Record<ErrorCode, { readonly status: FaultStatus | null; readonly advice: string }>
> = {
  CONFIGURATION: { status: null, advice: "Mend the tools file or the flags, then start again." },
  HOST_ERROR: { status: null, advice: "The kernel answered the tool's question with an error." },
  UNREACHABLE: { status: null, advice: "Start the sidecar, or mend the address." },
  CALL_ID_MISSING: { status: "INVALID_ARGUMENT", advice: "Give every call an id." },
  REQUEST_INVALID: { status: "INVALID_ARGUMENT", advice: "Mend the field that the text names." },
  MESSAGE_UNPARSABLE: {
    status: "INVALID_ARGUMENT",
    advice: "Encode the message as the contract says.",
  },
  UNAUTHENTICATED: { status: "UNAUTHENTICATED", advice: "Send the server's bearer token." },
  PERMISSION_DENIED: { status: "PERMISSION_DENIED", advice: "Ask the operator to allow it." },
  DIGEST_MISMATCH: {
    status: "FAILED_PRECONDITION",
    advice: "Fetch the manifest anew and plan with it.",
  },
  RUN_REQUIRED: { status: "FAILED_PRECONDITION", advice: "Call the tool on a live run." },
  RUN_ENDED: { status: "FAILED_PRECONDITION", advice: "Open a new run." },
  RUN_EXPIRED: { status: "FAILED_PRECONDITION", advice: "Use a new run id." },
  CALL_ID_REUSED: { status: "ALREADY_EXISTS", advice: "Give each call of a run its own id." },
  RUN_TAKEN_OVER: { status: "ABORTED", advice: "Another stream holds the run now." },
  OVERLOADED: { status: "RESOURCE_EXHAUSTED", advice: "Ask again after the delay given." },
  MESSAGE_TOO_LARGE: { status: "RESOURCE_EXHAUSTED", advice: "Send less, or raise the limit." },
  DRAINING: { status: "UNAVAILABLE", advice: "Ask the process that takes over." },
  JOURNAL_UNAVAILABLE: { status: "UNAVAILABLE", advice: "Ask again; see the server's log." },
  CANCELLED: { status: "CANCELLED", advice: "The caller cancelled or went away." },
  DEADLINE_EXCEEDED: { status: "DEADLINE_EXCEEDED", advice: "Allow more time." },
  UNIMPLEMENTED: { status: "UNIMPLEMENTED", advice: "Use a server that offers it." },
  INTERNAL: { status: "INTERNAL", advice: "A defect; see the server's log." },
};

/** Whether the tool had started for the request that failed. */
export type Started = "no" | "yes" | "unknown";

/** Everything that this package throws. Tell errors apart by `code`, not by class. */
export class ToolPortError extends Error {
  readonly code: ErrorCode;
  readonly started: Started;
  /** How long to wait before asking again, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; started?: Started; retryAfterMs?: number } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "ToolPortError";
    this.code = code;
    this.started = options.started ?? "no";
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A tools file, a tool or a flag that can't be served as it stands. */
export class ConfigurationError extends ToolPortError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("CONFIGURATION", message, options);
    this.name = "ConfigurationError";
  }
}

/** Recognises this package's errors, also those of another copy of the package. */
export function isToolPortError(value: unknown): value is ToolPortError {
  return value instanceof Error && "code" in value && Object.hasOwn(catalogue, String(value.code));
}
