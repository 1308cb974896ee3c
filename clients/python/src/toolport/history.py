"""The conversation so far, in whatever shape the kernel keeps it.

Read are this package's own ``Message``, dicts as OpenAI and Anthropic have them, and LangChain's
message objects (by their shape: LangChain is not needed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from .errors import invalid_request
from .v1 import selection_pb2

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who spoke."""


@dataclass(frozen=True, slots=True)
class ToolCallRef:
    """A call that an assistant message makes."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation."""

    role: Role
    text: str = ""
    name: str = ""
    """For ``tool`` the tool's name; empty: that of the call that ``tool_call_id`` refers to."""
    tool_call_id: str = ""
    """For ``tool`` the id of the call that it answers."""
    tool_calls: tuple[ToolCallRef, ...] = ()
    """For ``assistant`` the calls that it makes."""


MessageLike: TypeAlias = Message | Mapping[str, Any] | object
"""A ``Message``, a provider's dict, or a LangChain message."""

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}

_WIRE_ROLES: Final = {
    "system": selection_pb2.ROLE_SYSTEM,
    "user": selection_pb2.ROLE_USER,
    "assistant": selection_pb2.ROLE_ASSISTANT,
    "tool": selection_pb2.ROLE_TOOL,
}


def history(messages: Iterable[MessageLike]) -> list[selection_pb2.HistoryMessage]:
    """Reads a conversation, oldest first.

    Raises:
        InvalidRequest: a message has no known role; the text says which.
    """
    return [
        _to_wire(read)
        for index, message in enumerate(messages)
        for read in _read(message, f"message {index}")
    ]


def _to_wire(message: Message) -> selection_pb2.HistoryMessage:
    return selection_pb2.HistoryMessage(
        role=_WIRE_ROLES[message.role],
        name=message.name,
        tool_call_id=message.tool_call_id,
        tool_calls=[selection_pb2.ToolCallRef(id=c.id, name=c.name) for c in message.tool_calls],
        text=message.text,
    )


def _read(message: MessageLike, what: str) -> Iterator[Message]:
    if isinstance(message, Message):
        yield message
        return
    role = _role(message, what)
    content = _field(message, "content")
    calls = [*_calls(_field(message, "tool_calls")), *_tool_use(content)]
    text = _text(content)
    # Anthropic's answers of tools stand in a message of the user, and are no word of the user's.
    results = list(_tool_results(content))
    yield from results
    if results and not text and not calls:
        return
    yield Message(
        role=role,
        text=text,
        name=_string(_field(message, "name")),
        tool_call_id=_string(_field(message, "tool_call_id")),
        # The same call stands in `tool_calls` and in `content` of a LangChain message.
        tool_calls=tuple(dict.fromkeys(calls)),
    )


def _role(message: MessageLike, what: str) -> Role:
    said = _field(message, "role")
    if not isinstance(said, str):
        said = _field(message, "type")
    if isinstance(said, str):
        # LangChain's streamed messages are of the type AIMessageChunk.
        known = _ROLES.get(said) or _ROLES.get(said.removesuffix("MessageChunk").lower())
        if known is not None:
            return known
    raise invalid_request(
        f"{what} has the role {said!r}; expected one of {', '.join(sorted(_ROLES))}"
    )


def _calls(calls: object) -> Iterator[ToolCallRef]:
    for call in _list(calls):
        function = _field(call, "function")
        name = _field(function if function is not None else call, "name")
        yield ToolCallRef(id=_string(_field(call, "id")), name=_string(name))


def _tool_use(content: object) -> Iterator[ToolCallRef]:
    for block in _blocks(content, "tool_use"):
        yield ToolCallRef(id=_string(_field(block, "id")), name=_string(_field(block, "name")))


def _tool_results(content: object) -> Iterator[Message]:
    for block in _blocks(content, "tool_result"):
        yield Message(
            role="tool",
            text=_text(_field(block, "content")),
            tool_call_id=_string(_field(block, "tool_use_id")),
        )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(
        block if isinstance(block, str) else _string(_field(block, "text"))
        for block in _list(content)
    )


def _blocks(content: object, kind: str) -> Iterator[object]:
    return (block for block in _list(content) if _field(block, "type") == kind)


def _list(value: object) -> list[object] | tuple[object, ...]:
    return value if isinstance(value, (list, tuple)) else ()


def _field(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return value.get(name)
    return None if isinstance(value, str) else getattr(value, name, None)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
