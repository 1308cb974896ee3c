import { NotSent } from "./not-sent.ts";
import type { Sdk } from "./sdk.ts";

/** The call may have run, and its answer can't come any more; the text completes "the server …". */
export class Lost extends Error {
  override readonly name: string = "Lost";
}

/** The server answered that it doesn't do this; the text is its own. */
export class Refused extends Error {
  override readonly name: string = "Refused";
}

/** What else is known where a request fails. */
export interface FailureContext {
  readonly signal: AbortSignal | undefined;
  /** The server keeps a session for the connection. */
  readonly hasSession: boolean;
  /** Why the connection is lost, if it is. */
  readonly lostCause: string | undefined;
}

/** JSON-RPC's own code. */
const methodNotFound = -32_601;

/** Whether a server knows no such request. */
export function isMethodUnknown(sdk: Sdk, error: unknown): boolean {
  return error instanceof sdk.ProtocolError && error.code === methodNotFound;
}

/** Says what a failed request came to: NotSent, Lost, Refused, or the reason of its signal. */
export function explain(sdk: Sdk, error: unknown, context: FailureContext): unknown {
  if (context.signal?.aborted) return context.signal.reason;
  if (error instanceof Lost) return error;
  const cause = { cause: error };
  const notSent = notSentIn(error);
  if (notSent) return new NotSent(notSent.message, cause);
  if (error instanceof sdk.SdkHttpError) return explainStatus(error, context);
  if (error instanceof sdk.ProtocolError) return new Refused(error.message, cause);
  if (context.lostCause !== undefined) return new Lost(context.lostCause, cause);
  if (error instanceof sdk.SdkError) {
    const { ConnectionClosed, RequestTimeout } = sdk.SdkErrorCode;
    return error.code === ConnectionClosed || error.code === RequestTimeout
      ? new Lost("closed the connection", cause)
      : new Refused(`its answer can't be read: ${error.message}`, cause);
  }
  return new Lost(`could not be heard any more (${textOf(error)})`, cause);
}

/** Why no connection came about, completing "the server …". */
export function reasonOf(sdk: Sdk, error: unknown): string {
  if (error instanceof sdk.SdkHttpError) return `answered with HTTP status ${error.status}`;
  const notSent = notSentIn(error);
  if (notSent) return `can't be reached: ${notSent.message}`;
  if (error instanceof sdk.ProtocolError) return `refused the handshake: ${error.message}`;
  return textOf(error);
}

function explainStatus(
  error: Error & { readonly status: number | undefined },
  { hasSession }: FailureContext,
): Error {
  const { status = 0 } = error;
  // The session is not known any more, as after a restart: the request went no further than that.
  if (hasSession && (status === 404 || status === 400)) {
    return new NotSent(`answered with HTTP status ${status}`, { cause: error });
  }
  return [502, 503, 504].includes(status)
    ? new Lost(`answered with HTTP status ${status}`, { cause: error })
    : new Refused(`it answered with HTTP status ${status}`, { cause: error });
}

/** The error, or what caused it, that says that nothing was sent. */
function notSentIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  // The second is the SDK's own, of no class.
  const isOne = error instanceof NotSent || error.message === "Not connected";
  return isOne ? error : notSentIn(error.cause);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
