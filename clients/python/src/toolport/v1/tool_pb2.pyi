from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_KIND_UNSPECIFIED: _ClassVar[ErrorKind]
    ERROR_KIND_UNKNOWN_TOOL: _ClassVar[ErrorKind]
    ERROR_KIND_INVALID_ARGUMENTS: _ClassVar[ErrorKind]
    ERROR_KIND_RAISED: _ClassVar[ErrorKind]
    ERROR_KIND_TIMED_OUT: _ClassVar[ErrorKind]
    ERROR_KIND_REFUSED: _ClassVar[ErrorKind]
    ERROR_KIND_BUDGET_EXHAUSTED: _ClassVar[ErrorKind]
    ERROR_KIND_RESULT_UNSERIALIZABLE: _ClassVar[ErrorKind]
    ERROR_KIND_RESULT_TOO_LARGE: _ClassVar[ErrorKind]
    ERROR_KIND_HOST_LOST: _ClassVar[ErrorKind]
    ERROR_KIND_INDETERMINATE: _ClassVar[ErrorKind]
ERROR_KIND_UNSPECIFIED: ErrorKind
ERROR_KIND_UNKNOWN_TOOL: ErrorKind
ERROR_KIND_INVALID_ARGUMENTS: ErrorKind
ERROR_KIND_RAISED: ErrorKind
ERROR_KIND_TIMED_OUT: ErrorKind
ERROR_KIND_REFUSED: ErrorKind
ERROR_KIND_BUDGET_EXHAUSTED: ErrorKind
ERROR_KIND_RESULT_UNSERIALIZABLE: ErrorKind
ERROR_KIND_RESULT_TOO_LARGE: ErrorKind
ERROR_KIND_HOST_LOST: ErrorKind
ERROR_KIND_INDETERMINATE: ErrorKind

class ToolRequest(_message.Message):
    __slots__ = ("run_id", "call_id", "name", "arguments_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    call_id: str
    name: str
    arguments_json: str
    def __init__(self, run_id: _Optional[str] = ..., call_id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json", "result", "error", "error_kind", "duration_ms", "content", "structured_json", "replayed", "attempt")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_KIND_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_JSON_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    result: str
    error: str
    error_kind: ErrorKind
    duration_ms: float
    content: _containers.RepeatedCompositeFieldContainer[Content]
    structured_json: str
    replayed: bool
    attempt: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., result: _Optional[str] = ..., error: _Optional[str] = ..., error_kind: _Optional[_Union[ErrorKind, str]] = ..., duration_ms: _Optional[float] = ..., content: _Optional[_Iterable[_Union[Content, _Mapping]]] = ..., structured_json: _Optional[str] = ..., replayed: _Optional[bool] = ..., attempt: _Optional[int] = ...) -> None: ...

class Content(_message.Message):
    __slots__ = ("mime_type", "data", "uri", "name")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    data: bytes
    uri: str
    name: str
    def __init__(self, mime_type: _Optional[str] = ..., data: _Optional[bytes] = ..., uri: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ToolNames(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class ToolDescriptor(_message.Message):
    __slots__ = ("name", "description", "summary", "manifest_entry", "hidden", "input_schema_json", "output_schema_json", "category", "safety_level", "cost_usd", "requires", "max_calls_per_invocation", "scope", "routing_mode", "timeout_ms", "run_aware", "idempotent", "read_only", "destructive", "open_world", "capability")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_ENTRY_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SAFETY_LEVEL_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_PER_INVOCATION_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    ROUTING_MODE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    RUN_AWARE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    summary: str
    manifest_entry: str
    hidden: bool
    input_schema_json: str
    output_schema_json: str
    category: str
    safety_level: str
    cost_usd: float
    requires: str
    max_calls_per_invocation: int
    scope: str
    routing_mode: str
    timeout_ms: int
    run_aware: bool
    idempotent: bool
    read_only: bool
    destructive: bool
    open_world: bool
    capability: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., summary: _Optional[str] = ..., manifest_entry: _Optional[str] = ..., hidden: _Optional[bool] = ..., input_schema_json: _Optional[str] = ..., output_schema_json: _Optional[str] = ..., category: _Optional[str] = ..., safety_level: _Optional[str] = ..., cost_usd: _Optional[float] = ..., requires: _Optional[str] = ..., max_calls_per_invocation: _Optional[int] = ..., scope: _Optional[str] = ..., routing_mode: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., run_aware: _Optional[bool] = ..., idempotent: _Optional[bool] = ..., read_only: _Optional[bool] = ..., destructive: _Optional[bool] = ..., open_world: _Optional[bool] = ..., capability: _Optional[str] = ...) -> None: ...
