import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";

import { catalogue, type ErrorCode, type Started, ToolPortError } from "../errors.ts";
import { ErrorInfoSchema, RetryInfoSchema, type Status, StatusSchema } from "../wire/v1.ts";

/**
 * The error of a request that ended in a status other than OK.
 *
 * @param started what to say of the tool where the server did not say it
 */
export function faultOf(error: ServiceError, address: string, started: Started): ToolPortError {
  const details = readDetails(error);
  if (details) {
    return new ToolPortError(details.code, details.message, {
      started: details.started ?? started,
      ...(details.retryAfterMs === undefined ? {} : { retryAfterMs: details.retryAfterMs }),
    });
  }
  const code = isCut(error) ? "UNREACHABLE" : (codeByStatus.get(error.code) ?? "INTERNAL");
  if (code !== "UNREACHABLE")
    return new ToolPortError(code, error.details, { started, cause: error });
  const neverSent = error.details.startsWith("No connection established");
  return new ToolPortError(
    code,
    neverSent
      ? `no server answers at ${address}: ${reasonIn(error.details)}`
      : `the connection to ${address} was lost: ${error.details}`,
    { started: neverSent ? "no" : started, cause: error },
  );
}

/** The error of one call on a live run, as its event tells it. */
export function faultOfStatus(given: Status): ToolPortError {
  const details = detailsOf(given);
  const code = details?.code ?? codeByStatus.get(given.code) ?? "INTERNAL";
  return new ToolPortError(code, given.message, {
    started: details?.started ?? "unknown",
    ...(details?.retryAfterMs === undefined ? {} : { retryAfterMs: details.retryAfterMs }),
  });
}

/** Whether the stream was cut before it had a status, as a connection that is lost may cut it. */
function isCut({ code, details }: ServiceError): boolean {
  return code === status.INTERNAL && details.startsWith("Received RST_STREAM with code");
}

interface Details {
  readonly code: ErrorCode;
  readonly message: string;
  readonly started: Started | undefined;
  readonly retryAfterMs: number | undefined;
}

/** What the server says; undefined where it is not this package's server that speaks. */
function readDetails(error: ServiceError): Details | undefined {
  const bytes = error.metadata?.get("grpc-status-details-bin")[0];
  if (!(bytes instanceof Buffer)) return undefined;
  try {
    return detailsOf(fromBinary(StatusSchema, bytes));
  } catch {
    return undefined;
  }
}

function detailsOf({ message, details }: Status): Details | undefined {
  try {
    const find = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((info) => info);
    if (find?.domain !== "toolport" || !Object.hasOwn(catalogue, find.reason)) return undefined;
    const delay = details
      .map((any) => anyUnpack(any, RetryInfoSchema))
      .find((info) => info)?.retryDelay;
    return {
      code: find.reason as ErrorCode,
      message,
      started: startedIn(find.metadata["started"]),
      retryAfterMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    };
  } catch {
    return undefined;
  }
}

function startedIn(text: string | undefined): Started | undefined {
  return text === "no" || text === "yes" || text === "unknown" ? text : undefined;
}

/** grpc-js puts what the socket said behind `Last error: `. */
function reasonIn(details: string): string {
  return (
    /Last error: (?<why>.*?)(?:\. Resolution note:.*)?$/su.exec(details)?.groups?.["why"] ?? details
  );
}

const codeByStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [status.CANCELLED, "CANCELLED"],
  [status.INVALID_ARGUMENT, "REQUEST_INVALID"],
  [status.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"],
  [status.PERMISSION_DENIED, "PERMISSION_DENIED"],
  [status.UNAUTHENTICATED, "UNAUTHENTICATED"],
  [status.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE"],
  [status.UNIMPLEMENTED, "UNIMPLEMENTED"],
  [status.UNAVAILABLE, "UNREACHABLE"],
]);
