from toolport.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]

class StageAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STAGE_ACTION_UNSPECIFIED: _ClassVar[StageAction]
    STAGE_ACTION_ABSTAINED: _ClassVar[StageAction]
    STAGE_ACTION_FORCED: _ClassVar[StageAction]
    STAGE_ACTION_RELEASED: _ClassVar[StageAction]
    STAGE_ACTION_DEGRADED: _ClassVar[StageAction]
    STAGE_ACTION_NARROWED: _ClassVar[StageAction]
    STAGE_ACTION_EXTENDED: _ClassVar[StageAction]
    STAGE_ACTION_EMPTIED: _ClassVar[StageAction]
    STAGE_ACTION_UNCHANGED: _ClassVar[StageAction]
ROLE_UNSPECIFIED: Role
ROLE_SYSTEM: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_TOOL: Role
STAGE_ACTION_UNSPECIFIED: StageAction
STAGE_ACTION_ABSTAINED: StageAction
STAGE_ACTION_FORCED: StageAction
STAGE_ACTION_RELEASED: StageAction
STAGE_ACTION_DEGRADED: StageAction
STAGE_ACTION_NARROWED: StageAction
STAGE_ACTION_EXTENDED: StageAction
STAGE_ACTION_EMPTIED: StageAction
STAGE_ACTION_UNCHANGED: StageAction

class SelectionState(_message.Message):
    __slots__ = ("forced_choice", "resolved_tools", "intent", "query", "extra_json")
    FORCED_CHOICE_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    EXTRA_JSON_FIELD_NUMBER: _ClassVar[int]
    forced_choice: str
    resolved_tools: _tool_pb2.ToolNames
    intent: IntentVerdict
    query: str
    extra_json: str
    def __init__(self, forced_choice: _Optional[str] = ..., resolved_tools: _Optional[_Union[_tool_pb2.ToolNames, _Mapping]] = ..., intent: _Optional[_Union[IntentVerdict, _Mapping]] = ..., query: _Optional[str] = ..., extra_json: _Optional[str] = ...) -> None: ...

class IntentVerdict(_message.Message):
    __slots__ = ("label", "matched_tools")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MATCHED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    label: str
    matched_tools: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, label: _Optional[str] = ..., matched_tools: _Optional[_Iterable[str]] = ...) -> None: ...

class HistoryMessage(_message.Message):
    __slots__ = ("role", "name", "tool_call_id", "tool_calls", "text")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    role: Role
    name: str
    tool_call_id: str
    tool_calls: _containers.RepeatedCompositeFieldContainer[ToolCallRef]
    text: str
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., name: _Optional[str] = ..., tool_call_id: _Optional[str] = ..., tool_calls: _Optional[_Iterable[_Union[ToolCallRef, _Mapping]]] = ..., text: _Optional[str] = ...) -> None: ...

class ToolCallRef(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class StageRecord(_message.Message):
    __slots__ = ("stage", "action", "kept", "dropped", "added", "reinstated", "forced_choice", "detail")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REINSTATED_FIELD_NUMBER: _ClassVar[int]
    FORCED_CHOICE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    stage: str
    action: StageAction
    kept: _containers.RepeatedScalarFieldContainer[str]
    dropped: _containers.RepeatedScalarFieldContainer[str]
    added: _containers.RepeatedScalarFieldContainer[str]
    reinstated: _containers.RepeatedScalarFieldContainer[str]
    forced_choice: str
    detail: str
    def __init__(self, stage: _Optional[str] = ..., action: _Optional[_Union[StageAction, str]] = ..., kept: _Optional[_Iterable[str]] = ..., dropped: _Optional[_Iterable[str]] = ..., added: _Optional[_Iterable[str]] = ..., reinstated: _Optional[_Iterable[str]] = ..., forced_choice: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class SelectionResult(_message.Message):
    __slots__ = ("tools", "decided", "forced_choice", "trace")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    DECIDED_FIELD_NUMBER: _ClassVar[int]
    FORCED_CHOICE_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedScalarFieldContainer[str]
    decided: bool
    forced_choice: str
    trace: _containers.RepeatedCompositeFieldContainer[StageRecord]
    def __init__(self, tools: _Optional[_Iterable[str]] = ..., decided: _Optional[bool] = ..., forced_choice: _Optional[str] = ..., trace: _Optional[_Iterable[_Union[StageRecord, _Mapping]]] = ...) -> None: ...
