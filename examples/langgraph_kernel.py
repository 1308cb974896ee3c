"""A LangGraph agent whose tools are a sidecar's.

The model is scripted, so nothing here needs a network; everything else is what a real agent does:
the tools come from the manifest, run at once on one live run, and tell the terminal how far they
have come. One of them asks the kernel back.

    pip install "./clients/python[langchain]" langgraph
    python examples/langgraph_kernel.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from toolport import Output, Progress, Sidecar
from toolport.langchain import ToolEvent, tools

QUESTION = "Can the Otter berth at Skerry tonight, and what is the rule for refunds?"


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call, as a model makes it."""
    return {"type": "tool_call", "id": id, "name": name, "args": arguments}


SCRIPT = [
    AIMessage(
        "I look the rule up, ask the harbour master and watch her come in.",
        tool_calls=[
            call("call-1", "search_handbook", text="refund"),
            call("call-2", "ask_harbour_master", ship="Otter", port="Skerry"),
            call("call-3", "watch_crossing", ship="Otter", seconds=1),
            call("call-4", "convert_currency", amount="lots"),
        ],
    ),
    AIMessage("The Otter may berth at Skerry, berth 2. A full refund is due when we cancel."),
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


async def harbour_master(question: dict[str, Any]) -> dict[str, Any]:
    """What the tool `ask_harbour_master` asks for: a person, in a real kernel."""
    print(f"  ? the harbour master of {question['port']} is asked about the {question['ship']}")
    await asyncio.sleep(0.2)
    return {"allowed": True, "berth": 2, "remark": "mind the sandbank"}


def report(event: ToolEvent) -> None:
    """Passes on what a tool says while it runs, in LangGraph's own stream."""
    write = get_stream_writer()
    match event.event:
        case Progress(done, total, message):
            of = "" if total is None else f"/{total:g}"
            write(f"{event.call_id} {event.name} {done:g}{of} {message}")
        case Output(text=str(text)):
            write(f"{event.call_id} {event.name} says {text.strip()}")


def agent(model: BaseChatModel, made: list[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Asks the model and runs its tools until it calls no more."""
    bound = model.bind_tools(made)

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask)
    graph.add_node("tools", ToolNode(made))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    return graph.compile()


async def main() -> None:
    file = Path(__file__).with_name("tools.ts")
    async with Sidecar.spawn(file) as sidecar, sidecar.aport() as port:
        manifest = await port.manifest()
        print(manifest.text)
        hosts = {"harbour_master": harbour_master}
        async with port.run("langgraph-kernel-1", hosts=hosts) as run:
            graph = agent(ScriptedModel(), tools(run, manifest, on_event=report))
            print(f"\nuser: {QUESTION}")
            question = {"messages": [HumanMessage(QUESTION)]}
            async for mode, chunk in graph.astream(question, stream_mode=["custom", "updates"]):
                if mode == "custom":
                    print(f"  … {chunk}")
                else:
                    for update in chunk.values():
                        show(update["messages"])


def show(messages: list[BaseMessage]) -> None:
    """Prints what was said, not all of it."""
    for message in messages:
        text = " ".join(str(message.content).split())
        if isinstance(message, ToolMessage):
            print(f"  {message.tool_call_id} {message.name} ({message.status}): {text[:100]}")
        else:
            print(f"\nassistant: {text}")


if __name__ == "__main__":
    asyncio.run(main())
