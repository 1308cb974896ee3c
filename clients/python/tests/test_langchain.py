"""The tools of a real sidecar in LangChain and LangGraph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import ROOT

pytest.importorskip("langgraph")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from toolport import InvalidRequest, Progress, Sidecar, ToolPortError
from toolport.langchain import ToolEvent, ToolFailed, atools, tools

TOOLS = Path(__file__).with_name("tools.ts")

pytestmark = pytest.mark.skipif(
    not (ROOT / "dist" / "src" / "cli" / "main.js").is_file(), reason="toolport is not built here"
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    with Sidecar.spawn(TOOLS) as sidecar:
        yield sidecar


def by_name(made: list[BaseTool]) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in made}


def tool_call(name: str, arguments: dict[str, Any], id: str = "call_0") -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": arguments, "id": id}


def test_the_whole_manifest_comes_with_its_schemas_as_they_are(sidecar: Sidecar) -> None:
    with sidecar.port() as port:
        manifest = port.manifest()
        made = tools(port)
        hidden = by_name(tools(port, include_hidden=True))

    assert [tool.name for tool in made] == [tool.name for tool in manifest.tools]
    for tool, said in zip(made, manifest.tools, strict=True):
        assert (tool.args_schema, tool.description) == (said.input_schema, said.description)
        assert tool.args == said.input_schema.get("properties", {})
    assert "secret" in hidden and "secret" not in by_name(made)
    settings = by_name(made)["settings"]
    assert settings.metadata is not None
    assert settings.metadata["toolport"] == {
        "category": "chart",
        "safety_level": "safe",
        "cost_usd": 0.25,
        "max_calls_per_invocation": 3,
        "scope": "public",
        "routing_mode": "observe",
        "hidden": False,
        "run_aware": False,
        "idempotent": False,
    } | {k: v for k, v in settings.metadata["toolport"].items() if k in ("scope", "routing_mode")}
    function = convert_to_openai_tool(settings)["function"]
    assert function["name"] == "settings"
    assert function["parameters"]["properties"]["config"] == {
        "type": "string",
        "description": "Any text.",
    }
    assert function["parameters"]["required"] == ["config"]


def test_names_choose_among_them(sidecar: Sidecar) -> None:
    with sidecar.port() as port:
        assert [tool.name for tool in tools(port, names=["seen", "echo"])] == ["echo", "seen"]


ARGUMENTS = [
    {"config": "c", "run_manager": 3},
    {"config": "c", "type": "tool_call"},
    {"config": "c", "type": "tool_call", "name": "settings", "id": "x"},
    {"config": "c", "self": 1, "args": {"a": 1}, "kwargs": 2, "tool_call_id": "t"},
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
async def test_arguments_are_data_whatever_their_names(
    sidecar: Sidecar, arguments: dict[str, Any]
) -> None:
    async with sidecar.aport() as aport:
        tool = by_name(await atools(aport))["settings"]
        plain = await tool.ainvoke(dict(arguments))
        message = await tool.ainvoke(tool_call("settings", dict(arguments)))
    with sidecar.port() as port:
        synchronous = by_name(tools(port))["settings"]
        assert synchronous.invoke(dict(arguments)) == plain
        assert await synchronous.ainvoke(dict(arguments)) == plain

    assert message.artifact["value"] == {"args": arguments, "big": 9007199254740993}
    assert message.content == plain


async def test_a_result_is_a_message_with_an_artifact(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport:
        made = by_name(await atools(aport))
        picture = await made["picture"].ainvoke(tool_call("picture", {}, "call_7"))

    assert isinstance(picture, ToolMessage)
    assert (picture.status, picture.tool_call_id, picture.name) == ("success", "call_7", "picture")
    (part,) = picture.artifact["content"]
    assert part["mime_type"] == "image/png" and part["data"].startswith(b"\x89PNG")
    assert picture.artifact["call_id"] == "call_7"


async def test_an_outcome_that_is_an_error_is_an_error_message(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport:
        made = by_name(await atools(aport))
        message = await made["fail"].ainvoke(tool_call("fail", {}))
        bad = await made["settings"].ainvoke(tool_call("settings", {"run_manager": 0}))
        with pytest.raises(ToolFailed, match="échec") as raised:
            await made["fail"].ainvoke({})

    assert message.status == "error" and message.content.startswith("Error: échec")
    assert message.artifact["error_kind"] == "RAISED"
    assert bad.artifact["error_kind"] == "INVALID_ARGUMENTS" and "config" in bad.content
    assert raised.value.error_kind == "RAISED" and raised.value.call.error == str(raised.value)


async def test_or_an_exception_where_that_is_asked_for(sidecar: Sidecar) -> None:
    with sidecar.port() as port:
        fail = by_name(tools(port, errors="raise"))["fail"]
        with pytest.raises(ToolException, match="échec"):
            fail.invoke(tool_call("fail", {}))
        fail.handle_tool_error = True
        assert (await fail.ainvoke(tool_call("fail", {}))).status == "error"


async def test_a_fault_is_for_the_kernels_author(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport:
        ask = by_name(await atools(aport))["ask"]
        with pytest.raises(ToolPortError) as raised:
            await ask.ainvoke(tool_call("ask", {}))
    assert raised.value.reason == "RUN_REQUIRED"


async def test_on_a_live_run_tools_may_ask_the_kernel(sidecar: Sidecar) -> None:
    async with sidecar.aport() as aport:
        manifest = await aport.manifest()
        async with aport.run("lc", hosts={"approve": lambda p: p["seats"]}) as run:
            ask = by_name(tools(run, manifest))["ask"]
            message = await ask.ainvoke(tool_call("ask", {"seats": 2}))
    assert message.artifact["value"] == {"answer": 2}


async def test_progress_is_told_while_the_tool_runs(sidecar: Sidecar) -> None:
    told: list[ToolEvent] = []

    async def atell(event: ToolEvent) -> None:
        told.append(event)

    async with sidecar.aport() as aport:
        wait = by_name(await atools(aport, on_event=atell, tool_timeout=0.3))["wait"]
        message = await wait.ainvoke(tool_call("wait", {}, "c"))
    with sidecar.port() as port:
        for on_event in (told.append, atell):
            wait = by_name(tools(port, on_event=on_event, tool_timeout=0.3))["wait"]
            assert (await wait.ainvoke(tool_call("wait", {}, "c"))).status == "error"
            await asyncio.to_thread(wait.invoke, tool_call("wait", {}, "c"))

    assert message.artifact["error_kind"] == "TIMED_OUT"
    assert told == [ToolEvent("wait", "c", Progress(1, 2, "half-way"))] * 5


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_cancelling_the_task_aborts_the_tool(sidecar: Sidecar, kind: str) -> None:
    call_id = f"lc-{kind}"
    with sidecar.port() as port:
        async with sidecar.aport() as aport:
            made = tools(port) if kind == "sync" else await atools(aport)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await by_name(made)["wait"].ainvoke(tool_call("wait", {}, call_id))
            until = time.monotonic() + 10
            while call_id not in port.execute("seen").value["aborted"]:
                assert time.monotonic() < until
                await asyncio.sleep(0.02)


def test_what_can_not_work_says_so(sidecar: Sidecar) -> None:
    with sidecar.port() as port:
        manifest = port.manifest()
        aport = sidecar.aport()
        refused: list[Callable[[], Any]] = [
            lambda: tools(aport),
            lambda: tools(port, errors="ignore"),  # type: ignore[arg-type]
            lambda: tools(port.run("r"), manifest, run_id="r"),
            lambda: by_name(tools(port))["echo"].invoke("text"),
        ]
        for refuse in refused:
            with pytest.raises((InvalidRequest, ValueError)):
                refuse()
        with pytest.raises(NotImplementedError, match="use ainvoke"):
            by_name(tools(aport, manifest))["echo"].invoke({})
        asyncio.run(aport.close())


class ScriptedModel(BaseChatModel):
    """Says one message after another."""

    script: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        for tool in tools:
            convert_to_openai_tool(tool)
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=self.script[said])])


def agent(model: ScriptedModel, made: list[BaseTool]) -> Any:
    """An agent as LangGraph's own guide builds it."""
    bound = model.bind_tools(made)

    async def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(made))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=InMemorySaver())


async def test_they_work_in_an_agent_and_stream_their_progress(sidecar: Sidecar) -> None:
    script = [
        AIMessage(
            "",
            tool_calls=[
                tool_call("echo", {"n": 1}, "a"),
                tool_call("fail", {}, "b"),
                tool_call("picture", {}, "c"),
                tool_call("wait", {}, "d"),
            ],
        ),
        AIMessage("that was all"),
    ]

    def report(event: ToolEvent) -> None:
        if isinstance(event.event, Progress):
            get_stream_writer()({"tool": event.name, "message": event.event.message})

    async with sidecar.aport() as aport:
        made = await atools(
            aport,
            on_event=report,
            tool_timeout=0.5,
            run_id=lambda config: config["configurable"]["thread_id"],
        )
        graph = agent(ScriptedModel(script=script), made)
        config = {"configurable": {"thread_id": "thread-1"}}
        streamed = [
            chunk
            async for chunk in graph.astream(
                {"messages": [HumanMessage("go")]}, config, stream_mode="custom"
            )
        ]
        messages = (await graph.aget_state(config)).values["messages"]
        replayed = await by_name(made)["echo"].ainvoke(tool_call("echo", {"n": 1}, "a"), config)

    assert streamed == [{"tool": "wait", "message": "half-way"}]
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    assert answers["a"].content == '{"n":1}' and answers["b"].status == "error"
    assert answers["c"].artifact["content"][0]["data"].startswith(b"\x89PNG")
    assert answers["d"].artifact["error_kind"] == "TIMED_OUT"
    assert messages[-1].content == "that was all"
    assert replayed.artifact["replayed"] is True
