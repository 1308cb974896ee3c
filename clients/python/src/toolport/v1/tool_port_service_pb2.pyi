from google.rpc import status_pb2 as _status_pb2
from toolport.v1 import selection_pb2 as _selection_pb2
from toolport.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ManifestFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MANIFEST_FORMAT_UNSPECIFIED: _ClassVar[ManifestFormat]
    MANIFEST_FORMAT_OPENAI_CHAT: _ClassVar[ManifestFormat]
    MANIFEST_FORMAT_OPENAI_RESPONSES: _ClassVar[ManifestFormat]
    MANIFEST_FORMAT_ANTHROPIC: _ClassVar[ManifestFormat]
    MANIFEST_FORMAT_GEMINI: _ClassVar[ManifestFormat]
    MANIFEST_FORMAT_MCP: _ClassVar[ManifestFormat]

class OnDisconnect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_DISCONNECT_UNSPECIFIED: _ClassVar[OnDisconnect]
    ON_DISCONNECT_ABORT: _ClassVar[OnDisconnect]
    ON_DISCONNECT_CONTINUE: _ClassVar[OnDisconnect]
MANIFEST_FORMAT_UNSPECIFIED: ManifestFormat
MANIFEST_FORMAT_OPENAI_CHAT: ManifestFormat
MANIFEST_FORMAT_OPENAI_RESPONSES: ManifestFormat
MANIFEST_FORMAT_ANTHROPIC: ManifestFormat
MANIFEST_FORMAT_GEMINI: ManifestFormat
MANIFEST_FORMAT_MCP: ManifestFormat
ON_DISCONNECT_UNSPECIFIED: OnDisconnect
ON_DISCONNECT_ABORT: OnDisconnect
ON_DISCONNECT_CONTINUE: OnDisconnect

class ManifestRequest(_message.Message):
    __slots__ = ("include_hidden", "names", "budget_tokens", "query", "format", "strict")
    INCLUDE_HIDDEN_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    BUDGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    include_hidden: bool
    names: _tool_pb2.ToolNames
    budget_tokens: int
    query: str
    format: ManifestFormat
    strict: bool
    def __init__(self, include_hidden: _Optional[bool] = ..., names: _Optional[_Union[_tool_pb2.ToolNames, _Mapping]] = ..., budget_tokens: _Optional[int] = ..., query: _Optional[str] = ..., format: _Optional[_Union[ManifestFormat, str]] = ..., strict: _Optional[bool] = ...) -> None: ...

class ManifestResponse(_message.Message):
    __slots__ = ("tools", "digest", "text", "provider_tools_json", "provider_names", "server")
    class ProviderNamesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_NAMES_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolDescriptor]
    digest: str
    text: str
    provider_tools_json: str
    provider_names: _containers.ScalarMap[str, str]
    server: ServerInfo
    def __init__(self, tools: _Optional[_Iterable[_Union[_tool_pb2.ToolDescriptor, _Mapping]]] = ..., digest: _Optional[str] = ..., text: _Optional[str] = ..., provider_tools_json: _Optional[str] = ..., provider_names: _Optional[_Mapping[str, str]] = ..., server: _Optional[_Union[ServerInfo, _Mapping]] = ...) -> None: ...

class ServerInfo(_message.Message):
    __slots__ = ("version", "contract", "max_message_bytes", "max_calls_in_flight", "features")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    version: str
    contract: str
    max_message_bytes: int
    max_calls_in_flight: int
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[str] = ..., contract: _Optional[str] = ..., max_message_bytes: _Optional[int] = ..., max_calls_in_flight: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class SelectRequest(_message.Message):
    __slots__ = ("role", "candidates", "state", "messages", "include_descriptors", "format")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DESCRIPTORS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    role: str
    candidates: _tool_pb2.ToolNames
    state: _selection_pb2.SelectionState
    messages: _containers.RepeatedCompositeFieldContainer[_selection_pb2.HistoryMessage]
    include_descriptors: bool
    format: ManifestFormat
    def __init__(self, role: _Optional[str] = ..., candidates: _Optional[_Union[_tool_pb2.ToolNames, _Mapping]] = ..., state: _Optional[_Union[_selection_pb2.SelectionState, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[_selection_pb2.HistoryMessage, _Mapping]]] = ..., include_descriptors: _Optional[bool] = ..., format: _Optional[_Union[ManifestFormat, str]] = ...) -> None: ...

class SelectResponse(_message.Message):
    __slots__ = ("result", "tools", "digest", "provider_tool_choice_json")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_TOOL_CHOICE_JSON_FIELD_NUMBER: _ClassVar[int]
    result: _selection_pb2.SelectionResult
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolDescriptor]
    digest: str
    provider_tool_choice_json: str
    def __init__(self, result: _Optional[_Union[_selection_pb2.SelectionResult, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[_tool_pb2.ToolDescriptor, _Mapping]]] = ..., digest: _Optional[str] = ..., provider_tool_choice_json: _Optional[str] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("request", "timeout_ms", "expected_digest", "on_disconnect", "metadata", "accept_chunks")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_CHUNKS_FIELD_NUMBER: _ClassVar[int]
    request: _tool_pb2.ToolRequest
    timeout_ms: int
    expected_digest: str
    on_disconnect: OnDisconnect
    metadata: _containers.ScalarMap[str, str]
    accept_chunks: bool
    def __init__(self, request: _Optional[_Union[_tool_pb2.ToolRequest, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., expected_digest: _Optional[str] = ..., on_disconnect: _Optional[_Union[OnDisconnect, str]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., accept_chunks: _Optional[bool] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("progress", "output", "call", "chunk")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    progress: ToolProgress
    output: ToolOutput
    call: _tool_pb2.ToolCall
    chunk: ResultChunk
    def __init__(self, progress: _Optional[_Union[ToolProgress, _Mapping]] = ..., output: _Optional[_Union[ToolOutput, _Mapping]] = ..., call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., chunk: _Optional[_Union[ResultChunk, _Mapping]] = ...) -> None: ...

class ToolProgress(_message.Message):
    __slots__ = ("done", "total", "message")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    done: float
    total: float
    message: str
    def __init__(self, done: _Optional[float] = ..., total: _Optional[float] = ..., message: _Optional[str] = ...) -> None: ...

class ToolOutput(_message.Message):
    __slots__ = ("text", "json", "content")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    text: str
    json: str
    content: _tool_pb2.Content
    def __init__(self, text: _Optional[str] = ..., json: _Optional[str] = ..., content: _Optional[_Union[_tool_pb2.Content, _Mapping]] = ...) -> None: ...

class ResultChunk(_message.Message):
    __slots__ = ("part", "data")
    PART_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    part: int
    data: bytes
    def __init__(self, part: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class RefuseRequest(_message.Message):
    __slots__ = ("request", "reason")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    request: _tool_pb2.ToolRequest
    reason: str
    def __init__(self, request: _Optional[_Union[_tool_pb2.ToolRequest, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class RefuseResponse(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _tool_pb2.ToolCall
    def __init__(self, call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("open", "execute", "cancel", "host_reply")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    EXECUTE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    HOST_REPLY_FIELD_NUMBER: _ClassVar[int]
    open: OpenRun
    execute: RunCall
    cancel: CancelCall
    host_reply: HostReply
    def __init__(self, open: _Optional[_Union[OpenRun, _Mapping]] = ..., execute: _Optional[_Union[RunCall, _Mapping]] = ..., cancel: _Optional[_Union[CancelCall, _Mapping]] = ..., host_reply: _Optional[_Union[HostReply, _Mapping]] = ...) -> None: ...

class OpenRun(_message.Message):
    __slots__ = ("run_id", "expected_digest", "on_disconnect", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    expected_digest: str
    on_disconnect: OnDisconnect
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, run_id: _Optional[str] = ..., expected_digest: _Optional[str] = ..., on_disconnect: _Optional[_Union[OnDisconnect, str]] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RunCall(_message.Message):
    __slots__ = ("tag", "request", "deadline_ms")
    TAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    tag: int
    request: ExecuteRequest
    deadline_ms: int
    def __init__(self, tag: _Optional[int] = ..., request: _Optional[_Union[ExecuteRequest, _Mapping]] = ..., deadline_ms: _Optional[int] = ...) -> None: ...

class CancelCall(_message.Message):
    __slots__ = ("tag",)
    TAG_FIELD_NUMBER: _ClassVar[int]
    tag: int
    def __init__(self, tag: _Optional[int] = ...) -> None: ...

class HostReply(_message.Message):
    __slots__ = ("request_id", "result_json", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    result_json: str
    error: str
    def __init__(self, request_id: _Optional[str] = ..., result_json: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class RunResponse(_message.Message):
    __slots__ = ("opened", "event", "host_request", "host_cancel")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    HOST_REQUEST_FIELD_NUMBER: _ClassVar[int]
    HOST_CANCEL_FIELD_NUMBER: _ClassVar[int]
    opened: RunOpened
    event: CallEvent
    host_request: HostRequest
    host_cancel: HostCancel
    def __init__(self, opened: _Optional[_Union[RunOpened, _Mapping]] = ..., event: _Optional[_Union[CallEvent, _Mapping]] = ..., host_request: _Optional[_Union[HostRequest, _Mapping]] = ..., host_cancel: _Optional[_Union[HostCancel, _Mapping]] = ...) -> None: ...

class RunOpened(_message.Message):
    __slots__ = ("digest", "resumed", "server")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    digest: str
    resumed: bool
    server: ServerInfo
    def __init__(self, digest: _Optional[str] = ..., resumed: _Optional[bool] = ..., server: _Optional[_Union[ServerInfo, _Mapping]] = ...) -> None: ...

class CallEvent(_message.Message):
    __slots__ = ("tag", "call_id", "progress", "output", "call", "fault", "chunk")
    TAG_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    tag: int
    call_id: str
    progress: ToolProgress
    output: ToolOutput
    call: _tool_pb2.ToolCall
    fault: _status_pb2.Status
    chunk: ResultChunk
    def __init__(self, tag: _Optional[int] = ..., call_id: _Optional[str] = ..., progress: _Optional[_Union[ToolProgress, _Mapping]] = ..., output: _Optional[_Union[ToolOutput, _Mapping]] = ..., call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., fault: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., chunk: _Optional[_Union[ResultChunk, _Mapping]] = ...) -> None: ...

class HostRequest(_message.Message):
    __slots__ = ("request_id", "tag", "call_id", "name", "payload_json")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_JSON_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    tag: int
    call_id: str
    name: str
    payload_json: str
    def __init__(self, request_id: _Optional[str] = ..., tag: _Optional[int] = ..., call_id: _Optional[str] = ..., name: _Optional[str] = ..., payload_json: _Optional[str] = ...) -> None: ...

class HostCancel(_message.Message):
    __slots__ = ("request_id", "tag")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    tag: int
    def __init__(self, request_id: _Optional[str] = ..., tag: _Optional[int] = ...) -> None: ...
