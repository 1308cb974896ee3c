"""What this package raises, and how the fault of an RPC is read."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

Started: TypeAlias = Literal["no", "yes", "unknown"]
"""Whether the tool had started for the request that failed."""


class ToolPortError(Exception):
    """A fault: the request failed, and the kernel's author has something to mend.

    A tool that fails is no fault but an outcome, a ``ToolCall`` whose ``ok`` is false.
    ``str(error)`` is a sentence for people, exactly as the server sent it.
    """

    code: grpc.StatusCode
    """The gRPC status."""
    reason: str
    """One of the contract's reasons, such as ``DIGEST_MISMATCH``; beside those ``UNREACHABLE``
    where no server answers or the connection was lost, and ``FORKED``."""
    started: Started
    """Ask again without a run id only on ``no``."""
    retry_after: float | None
    """How long to wait before asking again, in seconds; None where the server did not say."""

    def __init__(
        self,
        message: str = "",
        *,
        code: grpc.StatusCode = grpc.StatusCode.INTERNAL,
        reason: str = "INTERNAL",
        started: Started = "unknown",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.started = started
        self.retry_after = retry_after
        # Whether asking again can't help, though the reason is one that may pass with time.
        self._is_final = False

    @property
    def message(self) -> str:
        """The same text as ``str(error)``."""
        return str(self)


class InvalidRequest(ToolPortError, ValueError):
    """The request breaks the contract; raised before anything is sent wherever that shows here."""


class CallCancelled(ToolPortError):
    """The call was cancelled, here or by the server."""


class DeadlineExceeded(ToolPortError, TimeoutError):
    """The request's ``timeout`` passed. A tool's own time limit is an outcome instead."""


class Unavailable(ToolPortError, ConnectionError):
    """The server can't be reached, is shutting down, or can't use its journal."""


class Overloaded(ToolPortError):
    """The server's queue is full; ``retry_after`` says when to ask again."""


class DigestMismatch(ToolPortError):
    """The server serves another set of tools than ``expected_digest`` names."""


class CallIdReused(ToolPortError):
    """The call id was used in its run for another call."""


class RunEnded(ToolPortError):
    """The run is over, so it takes no more calls."""


class SidecarError(Unavailable):
    """The sidecar did not start, or ended by itself."""

    exit_code: int | None
    """The process's exit code, negative for a signal; None where it was still running."""
    stderr: str
    """The last lines that it wrote to standard error."""

    def __init__(
        self,
        message: str = "",
        *,
        exit_code: int | None = None,
        stderr: str = "",
        started: Started = "no",
    ) -> None:
        super().__init__(
            message, code=grpc.StatusCode.UNAVAILABLE, reason="UNREACHABLE", started=started
        )
        self.exit_code = exit_code
        self.stderr = stderr


def invalid_request(message: str) -> InvalidRequest:
    """The error of a request that can't be sent as it stands."""
    return InvalidRequest(
        message, code=grpc.StatusCode.INVALID_ARGUMENT, reason="REQUEST_INVALID", started="no"
    )


def broken_contract(message: str) -> ToolPortError:
    """The error of an answer that does not keep the contract."""
    return ToolPortError(message)


def fault(
    error: grpc.RpcError, address: str, started: Started, timeout: float | None = None
) -> ToolPortError:
    """Reads the status that an RPC ended with.

    ``started`` is what holds where the server did not say it; ``timeout`` is the RPC's, in seconds.
    """
    code, details, trailers = _parts(error)
    status = _status_details(trailers)
    if status is not None and _error_info(status) is not None:
        return status_fault(status, started, code)
    reason = _REASON_BY_CODE.get(code, "INTERNAL")
    if reason == "UNREACHABLE":
        if _never_sent(details):
            return _new(f"no server answers at {address}: {details}", code, reason, "no")
        return _new(f"the connection to {address} was lost: {details}", code, reason, started)
    if reason == "DEADLINE_EXCEEDED" and timeout is not None:
        details = f"the request's timeout of {timeout:g} s passed"
    if reason == "MESSAGE_TOO_LARGE" and details.startswith("CLIENT: Sent message"):
        started = "no"
    return _new(details, code, reason, started)


def status_fault(
    status: status_pb2.Status, started: Started, code: grpc.StatusCode | None = None
) -> ToolPortError:
    """Reads the status that one call of a run, or an RPC, ended with.

    ``started`` is what holds where the server did not say it.
    """
    if code is None:
        code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    info = _error_info(status)
    if info is None:
        return _new(status.message, code, _REASON_BY_CODE.get(code, "INTERNAL"), started)
    said = info.metadata.get("started", "")
    return _new(
        status.message, code, info.reason, _started_in(said) or started, _retry_after(status)
    )


def _new(
    message: str,
    code: grpc.StatusCode,
    reason: str,
    started: Started,
    retry_after: float | None = None,
) -> ToolPortError:
    of = _CLASS_BY_REASON.get(reason, ToolPortError)
    return of(message, code=code, reason=reason, started=started, retry_after=retry_after)


_CLASS_BY_REASON: Final[dict[str, type[ToolPortError]]] = {
    "CALL_ID_MISSING": InvalidRequest,
    "REQUEST_INVALID": InvalidRequest,
    "MESSAGE_UNPARSABLE": InvalidRequest,
    "CANCELLED": CallCancelled,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "DRAINING": Unavailable,
    "JOURNAL_UNAVAILABLE": Unavailable,
    "UNREACHABLE": Unavailable,
    "FORKED": Unavailable,
    "OVERLOADED": Overloaded,
    "DIGEST_MISMATCH": DigestMismatch,
    "CALL_ID_REUSED": CallIdReused,
    "RUN_ENDED": RunEnded,
}

_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}

_REASON_BY_CODE: Final[dict[grpc.StatusCode, str]] = {
    grpc.StatusCode.CANCELLED: "CANCELLED",
    grpc.StatusCode.INVALID_ARGUMENT: "REQUEST_INVALID",
    grpc.StatusCode.DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
    grpc.StatusCode.PERMISSION_DENIED: "PERMISSION_DENIED",
    grpc.StatusCode.UNAUTHENTICATED: "UNAUTHENTICATED",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "MESSAGE_TOO_LARGE",
    grpc.StatusCode.UNIMPLEMENTED: "UNIMPLEMENTED",
    grpc.StatusCode.UNAVAILABLE: "UNREACHABLE",
}


_STARTED: Final[dict[str, Started]] = {"no": "no", "yes": "yes", "unknown": "unknown"}


def cancelled_here(started: Started = "unknown") -> ToolPortError:
    """The error of a call that its own caller cancelled."""
    return _new("the call was cancelled", grpc.StatusCode.CANCELLED, "CANCELLED", started)


def closed(what: str) -> ToolPortError:
    """The error of a client that is used after it was closed."""
    error = _new(f"this {what} is closed", grpc.StatusCode.UNAVAILABLE, "UNREACHABLE", "no")
    error._is_final = True
    return error


def deadline_passed(timeout: float, started: Started) -> ToolPortError:
    """The error of a call whose ``timeout`` in seconds passed before the server said so."""
    return _new(
        f"the request's timeout of {timeout:g} s passed",
        grpc.StatusCode.DEADLINE_EXCEEDED,
        "DEADLINE_EXCEEDED",
        started,
    )


def too_large(what: str, size: int, limit: int) -> ToolPortError:
    """The error of a message that is over the limit, and so was not sent."""
    return _new(
        f"{what} has {size} bytes, more than the {limit} that a message may have",
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "MESSAGE_TOO_LARGE",
        "no",
    )


def run_over(run_id: str, why: ToolPortError | None) -> ToolPortError:
    """The error of a call on a run that has ended; ``why`` is what ended it, if not its owner."""
    message = f"run {run_id!r} is no longer live" + ("" if why is None else f": {why}")
    return _new(message, grpc.StatusCode.FAILED_PRECONDITION, "RUN_ENDED", "no")


def ended_with(run_id: str, call_id: str, why: ToolPortError, started: Started) -> ToolPortError:
    """The error of a call that ended because its run did."""
    return because(why, f"run {run_id!r} ended before its call {call_id!r}: {why}", started)


def because(why: ToolPortError, message: str, started: Started) -> ToolPortError:
    """An error of the same kind as another one that led to it; asking again can't help."""
    error = copy.copy(why)
    error.args = (message,)
    error.started = started
    error._is_final = True
    error.__cause__ = why
    return error


def is_transient(error: ToolPortError) -> bool:
    """Whether it may pass with time, so that asking again may help."""
    if error._is_final or error.reason == "FORKED":
        return False
    return isinstance(error, Unavailable | Overloaded)


def forked(why: str) -> ToolPortError:
    """The error of a process in which gRPC can't be used."""
    return _new(
        f"this process was forked {why}, so gRPC does not work in it; "
        "fork before the first request, or start the process with the spawn or forkserver method",
        grpc.StatusCode.UNAVAILABLE,
        "FORKED",
        "no",
    )


Trailers: TypeAlias = Iterable[tuple[str, str | bytes]] | None


def _parts(error: grpc.RpcError) -> tuple[grpc.StatusCode, str, Trailers]:
    # Both the errors of grpc and of grpc.aio have these, which RpcError does not declare.
    code = getattr(error, "code", None)
    details = getattr(error, "details", None)
    trailers = getattr(error, "trailing_metadata", None)
    return (
        (code() if callable(code) else None) or grpc.StatusCode.UNKNOWN,
        (details() if callable(details) else None) or "",
        trailers() if callable(trailers) else None,
    )


def _status_details(trailers: Trailers) -> status_pb2.Status | None:
    for key, value in trailers or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def _error_info(status: status_pb2.Status) -> error_details_pb2.ErrorInfo | None:
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == "toolport":
            return info
    return None


def _retry_after(status: status_pb2.Status) -> float | None:
    for detail in status.details:
        info = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            delay = info.retry_delay
            return max(0.0, float(delay.seconds) + float(delay.nanos) / 1e9)
    return None


def _started_in(said: str) -> Started | None:
    return _STARTED.get(said)


def _never_sent(details: str) -> bool:
    return "failed to connect to all addresses" in details or "DNS resolution failed" in details
