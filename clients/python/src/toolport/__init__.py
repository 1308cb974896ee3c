"""Drives the TypeScript tools of a toolport sidecar from a Python agent kernel.

``Sidecar.spawn("tools.ts")`` starts one; ``ToolPort`` and ``AsyncToolPort`` speak to it.
"""

from .aio import AsyncToolPort
from .aio_stream import AsyncCallStream
from .calls import Content, ErrorKind, Event, Output, Progress, ToolCall
from .client import ToolPort
from .errors import (
    CallCancelled,
    CallIdReused,
    DeadlineExceeded,
    DigestMismatch,
    InvalidRequest,
    Overloaded,
    SidecarError,
    Started,
    ToolPortError,
    Unavailable,
)
from .history import Message, MessageLike, Role, ToolCallRef
from .remap import remap_tool_call_ids
from .requests import OnDisconnect
from .selection import Intent, Selection, StageAction, StageRecord
from .sidecar import Sidecar
from .stream import CallStream
from .tools import Format, Manifest, ServerInfo, ToolDescriptor

__all__ = [
    "AsyncCallStream",
    "AsyncToolPort",
    "CallCancelled",
    "CallIdReused",
    "CallStream",
    "Content",
    "DeadlineExceeded",
    "DigestMismatch",
    "ErrorKind",
    "Event",
    "Format",
    "Intent",
    "InvalidRequest",
    "Manifest",
    "Message",
    "MessageLike",
    "OnDisconnect",
    "Output",
    "Overloaded",
    "Progress",
    "Role",
    "Selection",
    "ServerInfo",
    "Sidecar",
    "SidecarError",
    "StageAction",
    "StageRecord",
    "Started",
    "ToolCall",
    "ToolCallRef",
    "ToolDescriptor",
    "ToolPort",
    "ToolPortError",
    "Unavailable",
    "remap_tool_call_ids",
]
