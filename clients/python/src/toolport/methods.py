"""The RPCs: their paths and their messages."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from google.protobuf.message import Message

from .v1 import tool_port_service_pb2 as pb

Req = TypeVar("Req", bound=Message)
Res = TypeVar("Res", bound=Message)


class Method(Generic[Req, Res]):
    """One RPC."""

    def __init__(self, name: str, request: type[Req], response: type[Res]) -> None:
        self.path = f"/toolport.v1.ToolPortService/{name}"
        self._response = response

    def encode(self, request: Req) -> bytes:
        """A request's bytes."""
        return request.SerializeToString()

    def decode(self, data: bytes) -> Res:
        """The response that some bytes are."""
        return self._response.FromString(data)


MANIFEST: Final = Method("Manifest", pb.ManifestRequest, pb.ManifestResponse)
SELECT: Final = Method("Select", pb.SelectRequest, pb.SelectResponse)
EXECUTE: Final = Method("Execute", pb.ExecuteRequest, pb.ExecuteResponse)
RUN: Final = Method("Run", pb.RunRequest, pb.RunResponse)
REFUSE: Final = Method("Refuse", pb.RefuseRequest, pb.RefuseResponse)

HEALTH_CHECK: Final = "/grpc.health.v1.Health/Check"
HEALTH_REQUEST: Final = b""
"""An empty HealthCheckRequest: the whole server."""
HEALTH_SERVING: Final = b"\x08\x01"
"""A HealthCheckResponse whose status is SERVING."""


def plain(data: bytes) -> bytes:
    """Takes bytes for what they are."""
    return data
