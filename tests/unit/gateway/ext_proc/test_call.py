"""A request as Envoy shows it: what is decided of its body, and what is held while it is
answered.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from envoy.config.core.v3.base_pb2 import HeaderMap, HeaderValue
from envoy.extensions.filters.http.ext_proc.v3.processing_mode_pb2 import ProcessingMode
from envoy.service.ext_proc.v3.external_processor_pb2 import (
    HttpBody,
    HttpHeaders,
    ProcessingRequest,
    ProcessingResponse,
    ProtocolConfiguration,
)
from tests.support.gateway_wire import World

from barostat.gateway.bounds import Bounds
from barostat.gateway.ext_proc.call import Call
from barostat.gateway.ext_proc.pace import Pace
from barostat.gateway.ext_proc.server import ExternalProcessor


def asked(
    call: Call, body: bytes, *, in_pieces: bool = False, priority_class: str = ""
) -> ProcessingResponse:
    """What Envoy is told of a chat completion with this body. `in_pieces`: it shows the body of the
    answer.
    """
    pairs = {":method": "POST", ":path": "/v1/chat/completions"}
    if priority_class:
        pairs["x-barostat-priority-class"] = priority_class
    headers = HeaderMap(
        headers=[HeaderValue(key=name, raw_value=value.encode()) for name, value in pairs.items()]
    )

    async def run() -> Any:
        modes = ProtocolConfiguration(
            response_body_mode=ProcessingMode.STREAMED if in_pieces else ProcessingMode.NONE
        )
        await call.take(
            ProcessingRequest(request_headers=HttpHeaders(headers=headers), protocol_config=modes)
        )
        (told,) = await call.take(
            ProcessingRequest(request_body=HttpBody(body=body, end_of_stream=True))
        )
        return told

    return cast("ProcessingResponse", asyncio.run(run()))


def call_in(world: World) -> Call:
    endpoints = {
        replica.name: f"10.0.0.1:{number}" for number, replica in enumerate(world.replicas)
    }
    processor = SimpleNamespace(
        gateway=world.gateway, endpoints=endpoints, pace_of=lambda _: Pace(), shows_heads=False
    )
    return Call(cast("ExternalProcessor", processor))


def head(call: Call, status: int = 200, kind: str = "application/json") -> None:
    """Envoy shows the head of an answer."""
    pairs = {":status": str(status), "content-type": kind}
    headers = HeaderMap(
        headers=[HeaderValue(key=name, raw_value=value.encode()) for name, value in pairs.items()]
    )
    asyncio.run(
        cast("Any", call.take(ProcessingRequest(response_headers=HttpHeaders(headers=headers))))
    )


HELLO = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 5}


def is_owed(world: World, call: Call) -> bool:
    """Its engine is taken to owe it an answer that another could have given."""
    (replica,) = (one for one in world.replicas if one.name == call.served_by)
    return world.desk.could_be_elsewhere(replica, 0.0)


def test_what_has_no_head_yet_is_owed_where_heads_are_shown() -> None:
    world = World(replicas=2)
    call = call_in(world)
    asked(call, json.dumps(HELLO).encode())
    assert not is_owed(world, call)  # as far as is known, nothing of an answer is ever shown
    call.processor.shows_heads = True
    call.look()
    assert is_owed(world, call)
    head(call)
    assert not is_owed(world, call)
    call.end()
    world.at_rest()


@pytest.mark.parametrize("in_pieces", [False, True])
def test_of_a_stream_that_has_only_a_head_a_token_is_owed_where_pieces_are_shown(
    in_pieces: bool,
) -> None:
    world = World(replicas=2)
    call = call_in(world)
    asked(call, json.dumps({**HELLO, "stream": True}).encode(), in_pieces=in_pieces)
    head(call, kind="text/event-stream")
    call.look()
    assert is_owed(world, call) is in_pieces
    asyncio.run(
        cast("Any", call.take(ProcessingRequest(response_body=HttpBody(body=b"data: {}\n\n"))))
    )
    assert not is_owed(world, call)
    call.end()
    world.at_rest()


@pytest.mark.parametrize(
    ("heads", "status", "ends_as"),
    [
        (True, 0, (499, "client-gone")),
        (False, 0, (0, "")),
        (True, 200, (200, "")),
        (True, 503, (503, "")),
    ],
)
def test_who_leaves_before_a_head_is_told_from_heads_that_are_not_shown(
    heads: bool, status: int, ends_as: tuple[int, str]
) -> None:
    world = World()
    before = call_in(world)
    if heads:
        head(before)
    before.end()
    call = call_in(world)
    call.processor = before.processor
    asked(call, json.dumps(HELLO).encode())
    if status:
        head(call, status)
    call.end()  # as Envoy ends a call in good order, also for a client that has left
    assert (call.status, call.reason) == ends_as
    assert sum(
        count for (name, _), count in world.metrics.counters.items() if name == "clients_gone_total"
    ) == (ends_as[0] == 499)
    world.at_rest()


def test_the_priority_class_that_a_request_names_is_decided_by() -> None:
    world = World("edge: {priorityClasses: [{name: high}, {name: low}]}")
    for named, rank in (("", 0), ("high", 0), ("low", 1)):
        call = call_in(world)
        asked(call, json.dumps(HELLO).encode(), priority_class=named)
        assert world.desk.ledger.reservations[call.reservation].rank == rank
        call.end(cut=True)
    refused = call_in(world)
    told = asked(refused, json.dumps(HELLO).encode(), priority_class="none")
    assert told.immediate_response.status.code == 400
    refused.end()
    world.at_rest()


def test_a_body_in_pieces_is_accounted_for_until_it_is_envoys() -> None:
    async def pieces(call: Call, of: bytes) -> list[int]:
        held = []
        headers = HeaderMap(
            headers=[
                HeaderValue(key=":method", raw_value=b"POST"),
                HeaderValue(key=":path", raw_value=b"/v1/chat/completions"),
            ]
        )
        await call.take(ProcessingRequest(request_headers=HttpHeaders(headers=headers)))
        for at in range(0, len(of), 2):
            await call.take(ProcessingRequest(request_body=HttpBody(body=of[at : at + 2])))
            held.append(world.gateway.buffered_bytes)
        return held

    world = World(bounds=Bounds(buffered_bytes=2000))
    call = call_in(world)
    held = asyncio.run(pieces(call, b"x" * 1000))
    assert 1000 <= held[-1] <= 1200
    call.end(cut=True)
    world.at_rest()
    call = call_in(world)
    asyncio.run(pieces(call, b"x" * 3000))
    assert (call.status, call.reason) == (503, "too-many-bodies")
    call.end()
    world.at_rest()


@pytest.mark.parametrize("limit", [5, 5000])
def test_a_body_is_not_held_while_it_is_answered(limit: int) -> None:
    world = World()
    call = call_in(world)
    told = asked(
        call,
        json.dumps(
            {"messages": [{"role": "user", "content": "x" * 9000}], "max_tokens": limit}
        ).encode(),
    )
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
