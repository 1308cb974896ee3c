"""What run-aware tools may ask of the kernel: functions by name."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from . import json_text
from .errors import ToolPortError, invalid_request
from .v1 import tool_port_service_pb2 as pb

log = logging.getLogger("toolport.host")

HostFunction: TypeAlias = Callable[[Any], Any]
"""Takes the tool's payload as Python data and returns the answer, itself or as a coroutine."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """The call of a run-aware tool that asks the kernel."""

    run_id: str
    call_id: str
    """The id of the call that asks."""
    name: str
    """Which host function it asks for."""
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more: the call that asked has ended."""
        return self._cancelled.is_set()


_current: contextvars.ContextVar[HostCall] = contextvars.ContextVar("toolport_host_call")


def host_call() -> HostCall:
    """Within a host function: the call that asks.

    Raises:
        LookupError: it is called elsewhere.
    """
    try:
        return _current.get()
    except LookupError:
        raise LookupError("host_call() was called outside a host function of a run") from None


class Question:
    """One question of a tool, and its answer once that was given."""

    def __init__(self, run_id: str, request: pb.HostRequest) -> None:
        self.request = request
        self.call = HostCall(run_id, request.call_id, request.name)
        self.reply: pb.HostReply | None = None
        self.work: Any = None
        """What the shell that runs it cancels it by."""


class Desk(ABC):
    """Answers the questions of one run, each once, however often the run is opened again."""

    def __init__(
        self,
        run_id: str,
        functions: Mapping[str, HostFunction] | None,
        keeps: bool,
        lock: threading.RLock,
    ) -> None:
        """``keeps``: an answer may be asked for again, because its stream was lost."""
        self._run_id = run_id
        if functions is not None and not isinstance(functions, Mapping):
            raise invalid_request(
                f"hosts must be a mapping of names to functions, not {type(functions).__name__}"
            )
        self._functions = dict(functions or {})
        for name, function in self._functions.items():
            if not isinstance(name, str):
                raise invalid_request(f"hosts has the key {name!r}; a function's name is a string")
            if not callable(function):
                raise invalid_request(f"hosts[{name!r}] is {function!r}, which can't be called")
        self._keeps = keeps
        self._lock = lock
        self._asked: dict[str, Question] = {}
        self.limit = 1 << 62
        """How many bytes an answer may have."""
        self.send: Callable[[pb.RunRequest], None] = lambda _: None
        """Sends an answer."""

    def ask(self, request: pb.HostRequest) -> None:
        """Runs the function, or sends the answer that it gave before."""
        with self._lock:
            known = self._asked.get(request.request_id)
            if known is not None:
                if known.reply is not None:
                    self.send(pb.RunRequest(host_reply=known.reply))
                return
            question = Question(self._run_id, request)
            self._asked[request.request_id] = question
            self._run(question)

    def cancel(self, request_id: str) -> None:
        """Ends a question that needs no answer any more."""
        with self._lock:
            question = self._asked.pop(request_id, None)
            if question is not None:
                self._end(question)

    def forget(self, call_id: str) -> None:
        """Ends what a call has asked."""
        with self._lock:
            for id in [id for id, q in self._asked.items() if q.call.call_id == call_id]:
                self.cancel(id)

    def check_not_asking(self) -> None:
        """Makes sure that this is no function of the run itself, whose call waits for it.

        Raises:
            InvalidRequest: it is one.
        """
        call = _current.get(None)
        with self._lock:
            for question in self._asked.values():
                if question.call is call and question.reply is None:
                    raise invalid_request(
                        f"the host function {question.call.name!r} closes the run that waits for "
                        "its answer, which would never end; abort() the run instead"
                    )

    def close(self) -> None:
        """Ends every question."""
        with self._lock:
            for id in list(self._asked):
                self.cancel(id)

    @abstractmethod
    def _run(self, question: Question) -> None:
        """Has the function answer; must not wait for it."""

    @abstractmethod
    def _stop(self, question: Question) -> None:
        """Cancels the function, as far as that is possible."""

    def _end(self, question: Question) -> None:
        question.call._cancelled.set()
        self._stop(question)

    def _function(self, question: Question) -> HostFunction:
        function = self._functions.get(question.call.name)
        if function is None:
            names = ", ".join(sorted(self._functions)) or "none"
            raise _Refused(
                f"the kernel has no host function named {question.call.name!r}; it has {names}"
            )
        return function

    def _payload(self, question: Question) -> Any:
        text = question.request.payload_json
        what = f"the payload for the host function {question.call.name!r}"
        return json_text.load(text, what) if text.strip() else None

    def _answered(self, question: Question, reply: pb.HostReply) -> None:
        with self._lock:
            if self._asked.get(question.request.request_id) is not question:
                return
            question.reply = reply
            if not self._keeps:
                del self._asked[question.request.request_id]
            self.send(pb.RunRequest(host_reply=reply))

    def _reply(self, question: Question, value: Any) -> pb.HostReply:
        what = f"the answer of the host function {question.call.name!r}"
        text = json_text.dump_value(value, what)
        size = len(text.encode())
        if size > self.limit:
            raise _Refused(
                f"{what} has {size} bytes, more than the {self.limit} that a message may have"
            )
        return pb.HostReply(request_id=question.request.request_id, result_json=text)

    def _failure(self, question: Question, error: BaseException) -> pb.HostReply:
        log.debug("the host function %r failed", question.call.name, exc_info=error)
        try:
            text = str(error)
        except Exception as failure:
            text = f"its text can't be had: {type(failure).__name__}"
        if not isinstance(error, _Refused | ToolPortError):
            text = f"{type(error).__name__}: {text}"
        data = text.encode(errors="replace")
        if len(data) > self.limit:
            # One that no message can carry would end the run with every call on it.
            note = f" … ({len(data)} bytes in all)"
            data = data[: max(0, self.limit - len(note.encode()))] + note.encode()
        return pb.HostReply(
            request_id=question.request.request_id, error=data.decode(errors="ignore")
        )


class AioDesk(Desk):
    """Runs coroutine functions as tasks of the run's loop, and any other on a thread."""

    def __init__(
        self,
        run_id: str,
        functions: Mapping[str, HostFunction] | None,
        keeps: bool,
        lock: threading.RLock,
    ) -> None:
        super().__init__(run_id, functions, keeps, lock)
        self._tasks: set[asyncio.Task[None]] = set()

    async def drain(self) -> None:
        """Waits for the functions that were cancelled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _run(self, question: Question) -> None:
        task = asyncio.get_running_loop().create_task(
            self._answer(question), name=f"toolport-host-{question.call.name}"
        )
        question.work = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop(self, question: Question) -> None:
        # One that ends its own question, by ending the run, is not to be cancelled for it.
        if question.work is not asyncio.current_task():
            question.work.cancel()

    async def _answer(self, question: Question) -> None:
        _current.set(question.call)
        try:
            function = self._function(question)
            payload = self._payload(question)
            raised: BaseException | None = None
            if _is_coroutine_function(function):
                value = function(payload)
            else:
                value, raised = await _on_thread(function, payload, question.call.name)
            if inspect.isawaitable(value):
                value = await value
            # What ends a thread is not to end the program.
            reply = self._failure(question, raised) if raised else self._reply(question, value)
        except asyncio.CancelledError as error:
            if question.call.cancelled:
                raise
            reply = self._failure(question, error)  # The function's own.
        except BaseException as error:
            self._answered(question, self._failure(question, error))
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise  # A task's ends the program.
            return
        self._answered(question, reply)


class ThreadDesk(Desk):
    """Runs each function on a thread of its own; a coroutine gets a loop there."""

    def _run(self, question: Question) -> None:
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._answer, question),
            name=f"toolport-host-{question.call.name}",
            daemon=True,
        )
        thread.start()

    def _stop(self, question: Question) -> None:
        work = question.work
        if work is not None:
            loop, task = work
            with suppress(RuntimeError):  # The loop may have ended.
                loop.call_soon_threadsafe(task.cancel)

    def _answer(self, question: Question) -> None:
        _current.set(question.call)
        try:
            value = self._function(question)(self._payload(question))
            if inspect.isawaitable(value):
                value = asyncio.run(self._awaited(question, value))
            reply = self._reply(question, value)
        except BaseException as error:  # The tool waits for an answer, whatever it is.
            reply = self._failure(question, error)
        self._answered(question, reply)

    async def _awaited(self, question: Question, value: Any) -> Any:
        with self._lock:
            question.work = (asyncio.get_running_loop(), asyncio.current_task())
            if question.call.cancelled:
                if inspect.iscoroutine(value):
                    value.close()
                raise asyncio.CancelledError
        return await value


class _Refused(Exception):
    """Why a question has no answer, in a sentence of this package's own."""


async def _on_thread(
    function: HostFunction, payload: Any, name: str
) -> tuple[Any, BaseException | None]:
    """Calls a function on a thread of its own, and gives what it returned or raised: the threads of
    the loop's pool are few, and one that never comes back would hold up the end of the program.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        value: Any = None
        raised: BaseException | None = None
        try:
            value = function(payload)
        except BaseException as error:
            raised = error
        with suppress(RuntimeError):  # The loop may have ended.
            loop.call_soon_threadsafe(settle, value, raised)

    def settle(value: Any, raised: BaseException | None) -> None:
        if not done.done():
            done.set_result((value, raised))

    threading.Thread(
        target=context.run, args=(work,), name=f"toolport-host-{name}", daemon=True
    ).start()
    return await done


def _is_coroutine_function(function: HostFunction) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )
