"""Drives toolport's Run from Python, as hard as it can, and prints what it measured.

The client is toolport's own for asyncio, or plain grpcio's with the generated messages. Flags and
output are those of the Go client in bench/load-client.
"""

import argparse
import asyncio
import itertools
import secrets
import time

import grpc
from meter import Meter
from toolport import AsyncToolPort
from toolport.v1 import tool_pb2, tool_port_service_pb2, tool_port_service_pb2_grpc

PADDING = "x" * (64 * 1024)


def check(tool: str, n: int, result: str) -> None:
    """Raises an error unless result is the answer to the n-th call."""
    want = f"{n} and 25 make {n + 25}, which is the sum of the two numbers."
    if tool == "page":
        want += PADDING[len(want) :]
    if result != want:
        raise SystemExit(f"call {n} was answered with {result[:80]!r} where {want[:80]!r} is right")


async def toolport(args: argparse.Namespace, meter: Meter) -> None:
    """Calls with toolport's own client, from as many tasks as are to be in flight."""
    numbers = itertools.count(1)
    async with AsyncToolPort(args.address) as port, port.run(run_id()) as run:

        async def keep_calling() -> None:
            more = True
            while more:
                n = next(numbers)
                start = time.perf_counter()
                call = await run.execute(args.tool, {"a": n, "b": 25})
                check(args.tool, n, call.result or call.error or "")
                more = meter.ended(start)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(args.in_flight):
                tasks.create_task(keep_calling())


async def grpcio(args: argparse.Namespace, meter: Meter) -> None:
    """Calls with grpcio's asyncio client: one task reads and answers each end with the next call."""
    options = [("grpc.default_authority", "localhost"), ("grpc.max_receive_message_length", -1)]
    async with grpc.aio.insecure_channel(args.address, options=options) as channel:
        stream = tool_port_service_pb2_grpc.ToolPortServiceStub(channel).Run()
        opening = tool_port_service_pb2.OpenRun(run_id=run_id())
        await stream.write(tool_port_service_pb2.RunRequest(open=opening))
        await stream.read()
        numbers = itertools.count(1)
        starts: dict[int, float] = {}

        async def call() -> None:
            n = next(numbers)
            starts[n] = time.perf_counter()
            await stream.write(request(args.tool, n))

        for _ in range(args.in_flight):
            await call()
        while starts:
            event = (await stream.read()).event
            check(args.tool, event.tag, event.call.result)
            if meter.ended(starts.pop(event.tag)):
                await call()
        await stream.done_writing()


def request(tool: str, n: int) -> tool_port_service_pb2.RunRequest:
    """The n-th call; its tag is n."""
    call = tool_pb2.ToolRequest(
        call_id=f"call-{n}", name=tool, arguments_json=f'{{"a":{n},"b":25}}'
    )
    execute = tool_port_service_pb2.ExecuteRequest(request=call)
    return tool_port_service_pb2.RunRequest(
        execute=tool_port_service_pb2.RunCall(tag=n, request=execute)
    )


def run_id() -> str:
    """One that was never used."""
    return f"bench-{secrets.token_hex(8)}"


def milliseconds(text: str) -> float:
    """Reads `500ms` as seconds."""
    return float(text.removesuffix("ms")) / 1000


def main() -> None:
    """Reads the flags, measures and prints."""
    clients = {"toolport": toolport, "grpcio": grpcio}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=clients)
    parser.add_argument("-address", required=True)
    parser.add_argument("-server-pid", type=int, required=True)
    parser.add_argument("-tool", choices=("add", "page"), default="add")
    parser.add_argument("-in-flight", type=int, default=16)
    parser.add_argument("-warm-up", type=milliseconds, default=1.0)
    parser.add_argument("-window", type=milliseconds, default=3.0)
    args = parser.parse_args()
    meter = Meter(args.warm_up, args.window, args.server_pid)
    asyncio.run(clients[args.client](args, meter))
    print(meter.report())


main()
