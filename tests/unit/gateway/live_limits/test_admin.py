"""The small door: read by everyone who can reach it, written to with the token only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.gateway_wire import World
from tests.unit.gateway.live_limits.test_limits_in_force import LEVER, file

from barostat.gateway.live_limits.admin import AdminConnection, AdminDoor
from barostat.gateway.live_limits.limits_in_force import LimitsInForce


def door(folder: Path, token: str = "t0ken") -> tuple[World, AdminDoor]:
    world = World()
    limits = LimitsInForce(file(folder, "request: {maxOutputTokens: 100}"), world.metrics)
    limits.adopt = world.gateway.adopt
    return world, AdminDoor(world.gateway, limits, token)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_what_everyone_may_read(tmp_path: Path) -> None:
    world, at = door(tmp_path)
    assert b"barostat_gateway_connections 0" in at.answer(b"GET", b"/metrics", b"", b"")
    assert [
        status(at.answer(b"GET", path, b"", b""))
        for path in (b"/livez", b"/readyz", b"/limits", b"/x")
    ] == [200, 200, 200, 404]
    for path in (b"/metrics", b"/limits"):
        assert status(at.answer(b"HEAD", path, b"", b"")) == 200
        assert at.answer(b"HEAD", path, b"", b"").endswith(b"\r\n\r\n")
    world.gateway.draining = True
    assert status(at.answer(b"GET", b"/readyz", b"", b"")) == 503
    assert status(at.answer(b"GET", b"/livez", b"", b"")) == 200
    world.gateway.draining = False
    world.desk.stands(world.replicas[0], "unreachable")
    assert status(at.answer(b"GET", b"/readyz", b"", b"")) == 503


def test_who_may_write(tmp_path: Path) -> None:
    world, at = door(tmp_path)
    body = json.dumps(LEVER).encode()
    assert status(at.answer(b"PUT", b"/limits", b"", body)) == 401
    assert status(at.answer(b"PUT", b"/limits", b"wrong", body)) == 401
    assert world.desk.rules.max_output_tokens == 1000
    assert status(at.answer(b"PUT", b"/limits", b"t0ken", body)) == 200
    assert world.desk.rules.max_output_tokens == 50
    assert status(at.answer(b"DELETE", b"/limits", b"t0ken", b"")) == 200
    assert world.desk.rules.max_output_tokens == 100
    assert [status(at.answer(b"PUT", b"/limits", b"t0ken", wrong)) for wrong in (b"{", b"[]")] == [
        400,
        400,
    ]
    assert status(at.answer(b"POST", b"/limits", b"t0ken", body)) == 405
    assert status(at.answer(b"POST", b"/metrics", b"", b"")) == 405


def test_without_a_token_nobody_may(tmp_path: Path) -> None:
    _, at = door(tmp_path, token="")
    assert status(at.answer(b"PUT", b"/limits", b"", json.dumps(LEVER).encode())) == 403


def test_what_a_lever_finds_out(tmp_path: Path) -> None:
    world, at = door(tmp_path)
    at.answer(b"PUT", b"/limits", b"t0ken", json.dumps({**LEVER, "epoch": 2}).encode())
    told = json.loads(at.answer(b"GET", b"/limits", b"", b"").partition(b"\r\n\r\n")[2])
    assert told["override"] | {"leaseSeconds": 0} == {
        "holder": "mitigate",
        "epoch": 2,
        "limits": LEVER["limits"],
        "enforce": False,
        "leaseSeconds": 0,
    }
    assert (told["shadow"], told["writable"]) == (False, True)
    assert (
        status(at.answer(b"PUT", b"/limits", b"t0ken", json.dumps({**LEVER, "epoch": 1}).encode()))
        == 409
    )
    assert status(at.answer(b"DELETE", b"/limits?holder=mitigate&epoch=1", b"t0ken", b"")) == 409
    assert status(at.answer(b"DELETE", b"/limits?holder=mitigate&epoch=-1", b"t0ken", b"")) == 400
    assert status(at.answer(b"DELETE", b"/limits?holder=somebody&epoch=9", b"t0ken", b"")) == 200
    assert world.desk.rules.max_output_tokens == 50
    assert status(at.answer(b"DELETE", b"/limits?holder=mitigate&epoch=2", b"t0ken", b"")) == 200
    assert world.desk.rules.max_output_tokens == 100


@pytest.mark.parametrize("header", [b"authorization: Bearer t0ken", b"X-Barostat-Token: t0ken"])
def test_the_token_in_either_header(tmp_path: Path, header: bytes) -> None:
    import asyncio

    from tests.support.gateway_wire import Side

    async def run() -> bytes:
        world, at = door(tmp_path)
        side = Side(world, AdminConnection(at))
        side.sends(b"DELETE /limits HTTP/1.1\r\n" + header + b"\r\n\r\n")
        return side.heard

    assert asyncio.run(run()).split(b" ")[1] == b"200"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [(b"nonsense\r\n\r\n", b"400"), (b"GET /livez HTTP/1.1\r\nx: " + b"y" * 70_000, b"413")],
)
def test_what_is_no_request(tmp_path: Path, sent: bytes, answer: bytes) -> None:
    import asyncio

    from tests.support.gateway_wire import Side

    async def run() -> bytes:
        world, at = door(tmp_path)
        side = Side(world, AdminConnection(at))
        side.sends(sent)
        return side.heard

    assert asyncio.run(run()).split(b" ")[1] == answer
