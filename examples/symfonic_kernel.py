"""A symfonic-core agent whose tools are a sidecar's.

The model is scripted, so nothing here needs a network; the agent, its tool registry and the sidecar
are the real ones.

    pip install "./clients/python[symfonic]"
    python examples/symfonic_kernel.py
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from symfonic.agent.builder import AgentBuilder
from symfonic.core.config import ModelConfig
from symfonic.core.tools.registry import ToolRegistry
from toolport import Sidecar
from toolport.symfonic import SymfonicToolPort, register, symfonic_tools

QUESTION = "The Otter did not sail on 1 May. What do we owe Mei Tanaka in yen?"


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call, as a model makes it."""
    return {"type": "tool_call", "id": id, "name": name, "args": arguments}


SCRIPT = [
    AIMessage(
        "I look up the rule and the rate.",
        tool_calls=[
            call("call-1", "search_handbook", text="refund"),
            call("call-2", "convert_currency", amount=52, **{"from": "EUR", "to": "JPY"}),
            call("call-3", "convert_currency", amount="all of it"),
        ],
    ),
    AIMessage("She gets her 52 EUR back, which is 8814 JPY."),
]


class ScriptedModel(BaseChatModel):
    """Stands in for a provider's model: says one message after another."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """A provider's model would keep them."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=SCRIPT[said])])


class ScriptedProvider:
    """What the agent asks for its model."""

    def get_chat_model(self, config: ModelConfig) -> BaseChatModel:
        return ScriptedModel()

    def supports_thinking(self) -> bool:
        return False

    def supports_streaming(self) -> bool:
        return False

    def supports_forced_tool_choice(self, config: ModelConfig) -> bool:
        return True


@dataclass(frozen=True)
class Request:
    """A call, in the form of a kernel's own tool port."""

    call_id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


async def main() -> None:
    file = Path(__file__).with_name("tools.ts")
    async with Sidecar.spawn(file) as sidecar, sidecar.aport() as port:
        made = await symfonic_tools(port)
        registry = register(ToolRegistry(), made)
        for tool in made:
            said = registry.get_registration(tool.name)
            assert said is not None
            print(f"{tool.name}: {said.category.value}, {said.safety_level.value}")

        builder = AgentBuilder().provider(ScriptedProvider()).model("scripted")
        agent = builder.lazy_tooling(False).tools(*made).build()
        print(f"\nuser: {QUESTION}")
        response = await agent.run(QUESTION)
        for message in response.messages:
            if message["type"] == "tool":
                text = " ".join(str(message["content"]).split())
                print(f"  {message['tool_call_id']} {message['name']}: {text[:100]}")
        print(f"\nassistant: {response.final_response}")

        # A kernel that runs its calls through a tool port of its own has one here.
        kernel_port = SymfonicToolPort(port, run_id="symfonic-kernel-1")
        ran = await kernel_port.execute(Request("call-4", "list_notes"))
        refused = await kernel_port.refuse(
            Request("call-5", "book_crossing"), "ask the customer first"
        )
        print(f"\n{ran.name}: {ran.result}\n{refused.name}: {refused.error}")


if __name__ == "__main__":
    asyncio.run(main())
