import type { JsonValue } from "./json.ts";

/** Why a call failed. */
export type ErrorKind =
  | "UNKNOWN_TOOL"
  | "INVALID_ARGUMENTS"
  | "RAISED"
  | "TIMED_OUT"
  | "REFUSED"
  | "BUDGET_EXHAUSTED"
  | "RESULT_UNSERIALIZABLE"
  | "RESULT_TOO_LARGE"
  | "HOST_LOST"
  | "INDETERMINATE";

/** An image, audio clip or file; exactly one of `data` and `uri` is present. */
export interface ContentPart {
  /** The IANA media type, such as `image/png`. */
  readonly mimeType: string;
  readonly data?: Uint8Array;
  readonly uri?: string;
  /** A file name or title for people. */
  readonly name?: string;
}

/** What a call came to: a result or an error, never both, never neither. */
export type Outcome = {
  /** Parts of the result that text cannot carry. */
  readonly content: readonly ContentPart[];
  /** Wall time in milliseconds; 0 only where nothing ran. */
  readonly durationMs: number;
  /** Counted from 1; 0 where nothing started. */
  readonly attempt: number;
  /** True where it was read from the record and nothing ran for this request. */
  readonly replayed: boolean;
} & (
  | {
      readonly ok: true;
      readonly result: string;
      /** The result as JSON text, where the tool returned structured data. */
      readonly structuredJson: string | undefined;
    }
  | { readonly ok: false; readonly errorKind: ErrorKind; readonly error: string }
);

/** A call that a kernel asks for. */
export interface CallRequest {
  /** Empty: the call stands alone and is never journaled. */
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  /** The arguments as JSON text, exactly as the kernel wrote them. */
  readonly argumentsJson: string;
  /** How long the tool may run, in milliseconds from its start. */
  readonly timeoutMs: number | undefined;
  /** Empty: do not check. */
  readonly expectedDigest: string;
  readonly onDisconnect: OnDisconnect;
  readonly metadata: Readonly<Record<string, string>>;
  /** The client takes a result over the message limit in parts. */
  readonly acceptChunks: boolean;
}

/** What becomes of a call when the connection is lost. */
export type OnDisconnect = "abort" | "continue";

/** What happens during a call, before its end. */
export type CallEvent =
  | {
      readonly kind: "progress";
      readonly done: number;
      readonly total: number | undefined;
      readonly message: string;
    }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "json"; readonly json: string }
  | { readonly kind: "content"; readonly content: ContentPart };

/** A value that a tool sends as partial output. */
export type OutputValue = JsonValue | Uint8Array | ContentPart;

/** The metadata of a call without any. */
export const noMetadata: Readonly<Record<string, string>> = Object.freeze(
  Object.create(null) as Record<string, string>,
);
