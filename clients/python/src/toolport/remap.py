"""Gives the tool calls of a message ids of the kernel's own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .errors import invalid_request

M = TypeVar("M")

_NewId = Callable[[int, object], object]


def remap_tool_call_ids(message: M, ids: Sequence[str] | Mapping[str, str]) -> M:
    """Gives the tool calls of an assistant message other ids: the kernel's, unique in its run, for
    the provider's, which may not be.

    They change in ``tool_calls``, in the ``tool_use`` blocks of a ``content`` list, and in
    ``tool_call_chunks``. Everything else, and ``message`` itself, stays as it is; where nothing
    changes the result is ``message`` itself. A message is a dict, or an object with such
    attributes, such as a LangChain message.

    A sequence of ids applies by position and has one for each call. A mapping applies by each
    call's own id, all at once, and leaves ids that it does not name.

    Raises:
        InvalidRequest: the message has not as many calls, blocks or chunks as there are ids.
    """
    if isinstance(ids, Mapping):
        return _remap_each(
            message, lambda _, own: ids.get(own, own) if isinstance(own, str) else own
        )
    if isinstance(ids, str):
        raise invalid_request(f"the ids are the one string {ids!r}; give a sequence or a mapping")
    return _remap_by_position(message, tuple(ids))


def _remap_by_position(message: M, ids: tuple[str, ...]) -> M:
    calls = _with_ids(_get(message, "tool_calls"))
    chunks = _with_ids(_get(message, "tool_call_chunks"))
    blocks = _with_ids(_get(message, "content"), "tool_use")
    # A streamed dict has chunks only: its calls are not put together yet.
    counted, what = calls, "tool calls"
    if _get(message, "tool_calls") is None and chunks:
        counted, what = chunks, "tool call chunks"
    _check_count(len(counted), what, len(ids), exact=True)
    if all(_get(call, "id") == new for call, new in zip(counted, ids, strict=True)):
        return message
    _check_count(len(chunks), "tool call chunks", len(ids), exact=False)
    _check_count(len(blocks), "tool_use blocks", len(ids), exact=False)
    return _remap_each(message, lambda index, _: ids[index])


def _check_count(count: int, what: str, given: int, *, exact: bool) -> None:
    if count > given or (exact and count < given):
        raise invalid_request(
            f"the message has {count} {what} and {given} ids were given; give one for each"
        )


def _remap_each(message: M, new_id: _NewId) -> M:
    changes: dict[str, object] = {}
    for name, kind in (("tool_calls", ""), ("content", "tool_use"), ("tool_call_chunks", "")):
        entries = _get(message, name)
        remapped = _remap_list(entries, kind, new_id)
        if remapped is not entries:
            changes[name] = remapped
    return _replaced(message, changes) if changes else message


def _remap_list(entries: object, kind: str, new_id: _NewId) -> object:
    if not isinstance(entries, (list, tuple)):
        return entries
    remapped = list(entries)
    index = 0
    changed = False
    for at, entry in enumerate(entries):
        if not _has_id(entry, kind):
            continue
        own = _get(entry, "id")
        new = new_id(index, own)
        index += 1
        if new != own:
            remapped[at] = _replaced(entry, {"id": new})
            changed = True
    if not changed:
        return entries
    return remapped if isinstance(entries, list) else tuple(remapped)


def _with_ids(entries: object, kind: str = "") -> list[object]:
    if not isinstance(entries, (list, tuple)):
        return []
    return [entry for entry in entries if _has_id(entry, kind)]


def _has_id(entry: object, kind: str) -> bool:
    if isinstance(entry, str) or entry is None:
        return False
    return not kind or _get(entry, "type") == kind


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _replaced(value: M, changes: dict[str, object]) -> M:
    if isinstance(value, Mapping):
        replaced: Any = copy.copy(value)
        replaced.update(changes)
        return replaced  # type: ignore[no-any-return]
    model_copy = getattr(value, "model_copy", None)
    if callable(model_copy):
        return model_copy(update=changes)  # type: ignore[no-any-return]
    copied = copy.copy(value)
    for name, change in changes.items():
        setattr(copied, name, change)
    return copied
