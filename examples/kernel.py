"""A small agent kernel in Python.

It asks a model what to do, has the sidecar do it, and asks again, until the model has its answer.
The model is scripted, so nothing here needs a network; everything else is what a real kernel does.

    python examples/kernel.py                              starts a sidecar of its own
    python examples/kernel.py --address unix:/path/socket  uses one that runs already
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolport import (
    AsyncToolPort,
    Manifest,
    Output,
    Progress,
    Sidecar,
    ToolCall,
    ToolPortError,
    remap_tool_call_ids,
)

QUESTION = (
    "The Otter did not sail on 1 May. What do we owe Mei Tanaka, and can she return on 3 May?"
)


@dataclass(frozen=True)
class Turn:
    """What the scripted model says when it is asked, in the role that the kernel plays then."""

    role: str
    text: str
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


SCRIPT = [
    Turn(
        "researcher",
        "I look up the rule, her booking and the timetable, and read the page on refunds.",
        [
            ("search_handbook", {"text": "refund"}),
            (
                "query_bookings",
                {
                    "sql": "SELECT reference, crossing_id, seats, paid_cents FROM bookings"
                    " WHERE passenger = ? ORDER BY crossing_id",
                    "values": ["Mei Tanaka"],
                },
            ),
            ("read_page", {"page": "timetable.html"}),
            ("search_handbok", {"text": "cancelled"}),
            # A tool of an MCP server that the tools file mounts: called like any other.
            ("handbook_read_text_file", {"path": "refunds.md"}),
        ],
    ),
    Turn(
        "clerk",
        "I book her way back, tell her the refund in yen, note it down and see the Otter off.",
        [
            (
                "book_crossing",
                {
                    "passenger": "Mei Tanaka",
                    "from": "Lowick",
                    "to": "Sandhaven",
                    "outward": "2026-05-03",
                    "seats": 4,
                },
            ),
            ("convert_currency", {"amount": 52, "from": "EUR", "to": "JPY"}),
            ("add_note", {"text": "Mei Tanaka: refund of 52 EUR, wants to return on 3 May"}),
            ("watch_crossing", {"ship": "Otter", "seconds": 2}),
        ],
    ),
    Turn(
        "clerk",
        "She gets her 52 EUR back and sails on 2 May with TW-204809. Lowick to Sandhaven on 3 May"
        " leaves at 12:30; I book it as soon as she says yes.",
    ),
]


class ScriptedModel:
    """Stands in for a provider: answers turn after turn, with ids that it uses every time anew."""

    def __init__(self) -> None:
        self._turns = iter(SCRIPT)
        self._next: Turn | None = next(self._turns)

    @property
    def role(self) -> str | None:
        """The role in which it will be asked next; None when it has said all."""
        return self._next.role if self._next else None

    def ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message, in the form of OpenAI's chat completions."""
        turn = self._next
        assert turn is not None and messages and tools
        self._next = next(self._turns, None)
        calls = [
            {"id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": a}}
            for i, (n, a) in enumerate(turn.calls)
        ]
        return {"role": "assistant", "content": turn.text, "tool_calls": calls}


class Kernel:
    """One run of the agent."""

    def __init__(self, port: AsyncToolPort, manifest: Manifest, model: ScriptedModel) -> None:
        self.port = port
        self.manifest = manifest
        self.model = model
        self.run_id = f"python-kernel-{uuid.uuid4()}"
        self.calls = 0
        self.messages: list[dict[str, Any]] = []

    async def run(self, question: str) -> None:
        """Asks and answers until the model calls no more tools."""
        self.messages.append({"role": "user", "content": question})
        say("user", question)
        while role := self.model.role:
            message = self.model.ask(self.messages, await self.offer(role))
            message = self.with_own_ids(message)
            self.messages.append(message)
            say("assistant", message["content"])
            # All at once: a model that makes several calls does not care for their order.
            async with asyncio.TaskGroup() as group:
                answers = [group.create_task(self.answer(call)) for call in message["tool_calls"]]
            if answers:
                print("\nwhat the model sees")
            for call, answer in zip(message["tool_calls"], answers, strict=True):
                name, text = call["function"]["name"], answer.result()
                self.messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "name": name, "content": text}
                )
                show(f"  {call['id']} {name}", text)

    async def offer(self, role: str) -> list[dict[str, Any]]:
        """The tools for this turn, as the provider takes them."""
        selection = await self.port.select(
            role=role, messages=self.messages, include_descriptors=True
        )
        print(f"\nas {role} the model is offered {', '.join(selection.tools)}")
        for record in selection.trace:
            dropped = f", without {', '.join(record.dropped)}" if record.dropped else ""
            print(f"  {record.stage}: {record.action}{dropped}")
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            }
            for tool in selection.descriptors or ()
        ]

    def with_own_ids(self, message: dict[str, Any]) -> dict[str, Any]:
        """Replaces the provider's ids, which may come again, by ids that are unique in the run."""
        first = self.calls + 1
        self.calls += len(message["tool_calls"])
        return remap_tool_call_ids(message, [f"call-{n}" for n in range(first, self.calls + 1)])

    async def answer(self, call: dict[str, Any]) -> str:
        """What the model is told about one call."""
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        tool = self.manifest.tool(name)
        # A precondition of this kernel: what its author calls restricted waits for a yes.
        if tool is not None and tool.safety_level == "restricted":
            refused = await self.port.refuse(
                name,
                arguments,
                reason=f"ask the customer first: {name} costs money",
                call_id=call["id"],
                run_id=self.run_id,
            )
            return refused.text
        events = self.port.stream(
            name,
            arguments,
            call_id=call["id"],
            run_id=self.run_id,
            expected_digest=self.manifest.digest,
            timeout=60,
        )
        async with events:
            async for event in events:
                match event:
                    case Progress(done, total, message):
                        print(f"  … {call['id']} {bar(done, total)} {message}")
                        if name == "watch_crossing" and total and done >= total / 2:
                            # Whoever watched has seen enough. To leave the loop cancels the call.
                            print(f"  … {call['id']} is cancelled half-way")
                            break
                    case Output(text=str(text)):
                        print(f"  … {call['id']} says {text.strip()}")
                    case ToolCall() as outcome:
                        return outcome.text
        return "This call was cancelled before it had a result. Continue without it."


def bar(done: float, total: float | None, width: int = 12) -> str:
    """How far a tool has come, as a picture."""
    if not total:
        return f"{done:g}"
    filled = round(width * min(done / total, 1))
    return f"[{'█' * filled}{'·' * (width - filled)}]"


def say(who: str, text: str) -> None:
    """Prints a line of the conversation."""
    print(f"\n{who}: {text}")


def show(title: str, text: str, lines: int = 6, width: int = 96) -> None:
    """Prints what the model sees, not all of it."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        pass  # It is plain text.
    wrapped = textwrap.wrap(text, width, max_lines=lines, placeholder=" …") or ["(nothing)"]
    print(title)
    print(textwrap.indent("\n".join(wrapped), "    "))


@asynccontextmanager
async def connect(address: str | None, token_file: str | None) -> AsyncIterator[AsyncToolPort]:
    """A sidecar that runs already, or one of our own."""
    if address is not None:
        async with AsyncToolPort(address, token_file=token_file) as port:
            yield port
    else:
        tools = Path(__file__).with_name("tools.ts")
        async with Sidecar.spawn(tools) as sidecar, sidecar.aport() as port:
            yield port


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--address", help="a running sidecar: unix:/path or host:port")
    parser.add_argument("--token-file", help="the file with that sidecar's bearer token")
    options = parser.parse_args()
    async with connect(options.address, options.token_file) as port:
        manifest = await port.manifest()
        print(f"the tools, served by toolport {manifest.server.version}, {manifest.digest[:19]}…")
        print(manifest.text)
        # For the kernel itself: to look a tool up that is hidden from the model.
        complete = await port.manifest(include_hidden=True)
        await Kernel(port, complete, ScriptedModel()).run(QUESTION)


if __name__ == "__main__":
    faults: list[Exception] = []
    try:
        asyncio.run(main())
    except* ToolPortError as group:
        faults.extend(group.exceptions)
    for fault in faults:
        print(f"{getattr(fault, 'reason', 'FAULT')}: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)
