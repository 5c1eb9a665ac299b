"""A request as Envoy shows it: what is decided of its body, and what is held while it is answered."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from envoy.config.core.v3.base_pb2 import HeaderMap, HeaderValue
from envoy.service.ext_proc.v3.external_processor_pb2 import HttpBody, HttpHeaders, ProcessingRequest, ProcessingResponse
from tests.support.gateway_wire import World

from barostat.gateway.ext_proc.call import Call
from barostat.gateway.ext_proc.pace import Pace
from barostat.gateway.ext_proc.server import ExternalProcessor


def asked(call: Call, body: bytes) -> ProcessingResponse:
    """What Envoy is told of a chat completion with this body."""
    pairs = {":method": "POST", ":path": "/v1/chat/completions"}
    headers = HeaderMap(headers=[HeaderValue(key=name, raw_value=value.encode()) for name, value in pairs.items()])

    async def run() -> Any:
        await call.take(ProcessingRequest(request_headers=HttpHeaders(headers=headers)))
        (told,) = await call.take(ProcessingRequest(request_body=HttpBody(body=body, end_of_stream=True)))
        return told

    return cast("ProcessingResponse", asyncio.run(run()))


def call_in(world: World) -> Call:
    processor = SimpleNamespace(gateway=world.gateway, endpoints={"engine-0:8000": "10.0.0.1:8000"}, pace_of=lambda _: Pace())
    return Call(cast("ExternalProcessor", processor))


@pytest.mark.parametrize("limit", [5, 5000])
def test_a_body_is_not_held_while_it_is_answered(limit: int) -> None:
    world = World()
    call = call_in(world)
    told = asked(call, json.dumps({"messages": [{"role": "user", "content": "x" * 9000}], "max_tokens": limit}).encode())
    assert told.WhichOneof("response") == "request_body"
    assert call.reservation
    assert call.body == b""
    call.end(cut=True)
    world.at_rest()


@pytest.mark.parametrize("shadow", [False, True])
def test_in_shadow_a_body_that_would_be_refused_is_the_engines(shadow: bool) -> None:
    world = World(shadow=shadow)
    call = call_in(world)
    told = asked(call, b"no json")
    assert told.WhichOneof("response") == ("request_body" if shadow else "immediate_response")
    call.end()
    world.at_rest()
