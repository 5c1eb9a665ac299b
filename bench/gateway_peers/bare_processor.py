"""The least that an external processor in Python costs: grpc.aio on uvloop, the body read by
orjson, one answer for all requests.

    python bench/gateway_peers/bare_processor.py PORT ENGINE        ENGINE: address and port, as Envoy wants its destination

Nothing is decided, bounded or counted: what the gateway's decision costs is told by what it takes
beyond this, in the same run.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc
import grpc.aio
import orjson
import uvloop
from envoy.service.ext_proc.v3.external_processor_pb2 import ProcessingRequest, ProcessingResponse

from barostat.gateway.ext_proc.messages import HEADERS_PASS, to_engine
from barostat.gateway.ext_proc.server import SERVICE


async def serve(port: str, engine: str) -> None:
    """Until it is stopped."""
    goes = to_engine(engine)

    async def process(
        _: Any, context: grpc.aio.ServicerContext[ProcessingRequest, ProcessingResponse]
    ) -> None:
        while (message := await context.read()) is not grpc.aio.EOF:
            if message.WhichOneof("request") == "request_body":
                orjson.loads(message.request_body.body)
                await context.write(goes)
            else:
                await context.write(HEADERS_PASS)

    handler = grpc.stream_stream_rpc_method_handler(
        process,
        request_deserializer=ProcessingRequest.FromString,
        response_serializer=ProcessingResponse.SerializeToString,
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {"Process": handler}),)
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(serve(*sys.argv[1:]))
