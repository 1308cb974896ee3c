"""The RPCs that contract cases call, and their messages as JSON data."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from toolport.v1 import tool_port_service_pb2 as pb

Kind = Literal["unary", "server_streaming", "bidi_streaming"]


@dataclass(frozen=True)
class Method:
    """One RPC, by the name that cases have for it."""

    path: str
    request: type[Message]
    response: type[Message]
    kind: Kind = "unary"

    def encode(self, request: Message | bytes) -> bytes:
        """What is sent: a message, or the very bytes that a case has."""
        return request if isinstance(request, bytes) else request.SerializeToString()

    def decode(self, data: bytes) -> Message:
        return self.response.FromString(data)

    def read(self, step: dict[str, Any], key: str) -> Message | bytes:
        """What a step sends."""
        if "requestBytes" in step:
            return base64.b64decode(step["requestBytes"])
        return json_format.ParseDict(step.get(key, {}), self.request())


def _health(name: str) -> type[Message]:
    """A message of grpc.health.v1: no package here has them."""
    of = _HEALTH.FindMessageTypeByName(f"grpc.health.v1.{name}")
    return message_factory.GetMessageClass(of)


def _health_pool() -> descriptor_pool.DescriptorPool:
    file = json_format.ParseDict(
        {
            "name": "grpc/health/v1/health.proto",
            "package": "grpc.health.v1",
            "syntax": "proto3",
            "messageType": [
                {
                    "name": "HealthCheckRequest",
                    "field": [{"name": "service", "number": 1, "type": "TYPE_STRING"}],
                },
                {
                    "name": "HealthCheckResponse",
                    "field": [
                        {
                            "name": "status",
                            "number": 1,
                            "type": "TYPE_ENUM",
                            "typeName": ".grpc.health.v1.HealthCheckResponse.ServingStatus",
                        }
                    ],
                    "enumType": [
                        {
                            "name": "ServingStatus",
                            "value": [
                                {"name": "UNKNOWN", "number": 0},
                                {"name": "SERVING", "number": 1},
                                {"name": "NOT_SERVING", "number": 2},
                                {"name": "SERVICE_UNKNOWN", "number": 3},
                            ],
                        }
                    ],
                },
            ],
        },
        descriptor_pb2.FileDescriptorProto(),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_HEALTH = _health_pool()
_SERVICE = "/toolport.v1.ToolPortService"

METHODS = {
    "Manifest": Method(f"{_SERVICE}/Manifest", pb.ManifestRequest, pb.ManifestResponse),
    "Select": Method(f"{_SERVICE}/Select", pb.SelectRequest, pb.SelectResponse),
    "Refuse": Method(f"{_SERVICE}/Refuse", pb.RefuseRequest, pb.RefuseResponse),
    "Execute": Method(
        f"{_SERVICE}/Execute", pb.ExecuteRequest, pb.ExecuteResponse, "server_streaming"
    ),
    "Run": Method(f"{_SERVICE}/Run", pb.RunRequest, pb.RunResponse, "bidi_streaming"),
    "Health": Method(
        "/grpc.health.v1.Health/Check",
        _health("HealthCheckRequest"),
        _health("HealthCheckResponse"),
    ),
    # As a client of a later version would call it.
    "Unknown": Method(f"{_SERVICE}/Unknown", pb.ManifestRequest, pb.ManifestResponse),
}


class Rpc(Protocol):
    """One RPC of either client's channel."""

    async def send(self, message: Message | bytes) -> None:
        """Sends a message; what can't be sent any more is dropped."""

    async def half_close(self) -> None: ...
    def cancel(self) -> None: ...
    async def next(self) -> Message | None:
        """The next message; None once there is none."""

    async def ended(self) -> grpc.aio.AioRpcError | None:
        """How it ended; None for OK."""


def json_of(message: Message) -> Any:
    """A message in the canonical JSON mapping."""
    return json_format.MessageToDict(message)


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """The status that an RPC ended with, in full where the server gave its details."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return status_pb2.Status.FromString(value)
    return status_pb2.Status(code=error.code().value[0], message=error.details() or "")


__all__ = ["METHODS", "Method", "Rpc", "error_details_pb2", "json_of", "status_of"]
