"""grpcio's asyncio server as it comes, with the same messages as connect-node.ts."""

import asyncio
import json

import grpc
from toolport.v1 import tool_pb2, tool_port_service_pb2, tool_port_service_pb2_grpc

PADDING = "x" * (64 * 1024)


def answer(request):
    """Answers a call as simply as can be."""
    numbers = json.loads(request.arguments_json)
    a, b = numbers["a"], numbers["b"]
    text = f"{a} and {b} make {a + b}, which is the sum of the two numbers."
    if request.name == "page":
        text += PADDING[len(text) :]
    return tool_pb2.ToolCall(
        id=request.call_id,
        name=request.name,
        arguments_json=request.arguments_json,
        result=text,
    )


class Port(tool_port_service_pb2_grpc.ToolPortServiceServicer):
    """Refuse stands in for a plain unary RPC: it takes a request and answers a call."""

    async def Refuse(self, request, context):
        return tool_port_service_pb2.RefuseResponse(call=answer(request.request))

    async def Run(self, requests, context):
        async for request in requests:
            yield respond(request)


def respond(request):
    """Answers a message of a run."""
    if request.WhichOneof("message") != "execute":
        return tool_port_service_pb2.RunResponse(opened=tool_port_service_pb2.RunOpened())
    call = answer(request.execute.request.request)
    return tool_port_service_pb2.RunResponse(
        event=tool_port_service_pb2.CallEvent(tag=request.execute.tag, call_id=call.id, call=call)
    )


async def main():
    """Serves until it is ended."""
    server = grpc.aio.server()
    tool_port_service_pb2_grpc.add_ToolPortServiceServicer_to_server(Port(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(json.dumps({"address": f"127.0.0.1:{port}"}), flush=True)
    await server.wait_for_termination()


asyncio.run(main())
