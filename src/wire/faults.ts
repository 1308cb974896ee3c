import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { catalogue, type FaultStatus, isToolPortError, ToolPortError } from "../errors.ts";
import type { Log } from "../internal/log.ts";
import { ErrorInfoSchema, RetryInfoSchema, StatusSchema, type Status } from "./v1.ts";

/** The domain of every ErrorInfo that this package sends. */
export const faultDomain = "toolport";

/** A fault's text travels in a header, so it is kept short; in characters. */
const maxMessageLength = 1024;

const codes: Readonly<Record<FaultStatus, Code>> = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  UNAUTHENTICATED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  ALREADY_EXISTS: Code.AlreadyExists,
  ABORTED: Code.Aborted,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  UNAVAILABLE: Code.Unavailable,
  CANCELLED: Code.Canceled,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  UNIMPLEMENTED: Code.Unimplemented,
  INTERNAL: Code.Internal,
};

/**
 * Whatever was thrown, as the error that an RPC ends in. What is not a fault of the catalogue
 * becomes INTERNAL; its own text and stack are logged and do not travel.
 */
export function toConnectError(thrown: unknown, log: Log): ConnectError {
  const fault = faultOf(thrown, log);
  const error = new ConnectError(messageOf(fault), codeOf(fault));
  error.details = [
    { desc: ErrorInfoSchema, value: errorInfo(fault) },
    ...retryInfos(fault).map((value) => ({ desc: RetryInfoSchema, value })),
  ];
  return error;
}

/** A fault as it ends one call of a live run, with the details that it has as an RPC's status. */
export function toStatus(thrown: unknown, log: Log): Status {
  const fault = faultOf(thrown, log);
  return create(StatusSchema, {
    code: codeOf(fault),
    message: messageOf(fault),
    details: [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, errorInfo(fault))),
      ...retryInfos(fault).map((info) => anyPack(RetryInfoSchema, create(RetryInfoSchema, info))),
    ],
  });
}

/** What was thrown, if it is a fault that may travel, else INTERNAL. */
function faultOf(thrown: unknown, log: Log): ToolPortError {
  if (isToolPortError(thrown) && catalogue[thrown.code].status !== null) {
    if (thrown.code === "INTERNAL") log("error", "internal_fault", { error: thrown });
    return thrown;
  }
  log("error", "internal_fault", { error: thrown });
  return new ToolPortError("INTERNAL", "a defect of the server; its log says more", {
    cause: thrown,
    started: "unknown",
  });
}

function codeOf(fault: ToolPortError): Code {
  return codes[catalogue[fault.code].status ?? "INTERNAL"];
}

function messageOf(fault: ToolPortError): string {
  const text = fault.message.toWellFormed();
  return text.length <= maxMessageLength
    ? text
    : `${text.slice(0, maxMessageLength - 1).toWellFormed()}…`;
}

function errorInfo(fault: ToolPortError): MessageInitShape<typeof ErrorInfoSchema> {
  return { reason: fault.code, domain: faultDomain, metadata: { started: fault.started } };
}

function retryInfos(fault: ToolPortError): MessageInitShape<typeof RetryInfoSchema>[] {
  if (fault.retryAfterMs === undefined) return [];
  const ms = Math.max(0, Math.ceil(fault.retryAfterMs));
  const seconds = Math.floor(ms / 1000);
  return [{ retryDelay: { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1e6 } }];
}
