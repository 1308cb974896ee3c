"""Drives the TypeScript tools of a toolport sidecar from a Python agent kernel.

``Sidecar.spawn("tools.ts")`` starts one; ``ToolPort`` and ``AsyncToolPort`` speak to it.
"""

from .aio import AsyncToolPort
from .aio_run import AsyncRun
from .aio_stream import AsyncCallStream
from .calls import Content, ErrorKind, Event, Output, Progress, Skipped, ToolCall
from .client import ToolPort
from .errors import (
    CallCancelled,
    CallIdReused,
    DeadlineExceeded,
    DigestMismatch,
    InvalidRequest,
    Overloaded,
    RunEnded,
    SidecarError,
    Started,
    ToolPortError,
    Unavailable,
)
from .history import Message, MessageLike, Role, ToolCallRef
from .host import HostCall, HostFunction, host_call
from .remap import remap_tool_call_ids
from .requests import OnDisconnect
from .retry import Retry
from .run import Run
from .run_requests import CallRequest, RequestLike
from .selection import Intent, Selection, StageAction, StageRecord
from .sidecar import RestartPolicy, Sidecar
from .stream import CallStream
from .tools import Format, Manifest, ServerInfo, ToolDescriptor

__all__ = [
    "AsyncCallStream",
    "AsyncRun",
    "AsyncToolPort",
    "CallCancelled",
    "CallIdReused",
    "CallRequest",
    "CallStream",
    "Content",
    "DeadlineExceeded",
    "DigestMismatch",
    "ErrorKind",
    "Event",
    "Format",
    "HostCall",
    "HostFunction",
    "Intent",
    "InvalidRequest",
    "Manifest",
    "Message",
    "MessageLike",
    "OnDisconnect",
    "Output",
    "Overloaded",
    "Progress",
    "RequestLike",
    "RestartPolicy",
    "Retry",
    "Role",
    "Run",
    "RunEnded",
    "Selection",
    "ServerInfo",
    "Sidecar",
    "SidecarError",
    "Skipped",
    "StageAction",
    "StageRecord",
    "Started",
    "ToolCall",
    "ToolCallRef",
    "ToolDescriptor",
    "ToolPort",
    "ToolPortError",
    "Unavailable",
    "host_call",
    "remap_tool_call_ids",
]
