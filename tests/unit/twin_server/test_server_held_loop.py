"""No request holds the twin's loop for more than 50 ms: CPU time of one slice of work, of each kind
of request that costs something.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest
import uvicorn
from tests.support.held_loop import KINDS, MOST_S, TRIES
from tests.support.machine_pace import slower
from uvicorn.server import ServerState

from barostat.twin_server.connection import _READ_BYTES, Connection

ROOT = Path(__file__).resolve().parents[3]
STATUSES = {200, 400, 404, 413}


@pytest.mark.sweep
@pytest.mark.timeout(400)
def test_no_kind_of_request_holds_the_loop() -> None:
    command = [sys.executable, "-m", "tests.support.held_loop"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=390, check=True)
    found = json.loads(ran.stdout)
    assert list(found) == list(KINDS)
    most_s = MOST_S * slower()
    assert {
        kind: held for kind, held in found.items() if held[0] > most_s or held[1] not in STATUSES
    } == {}


class _Wire(asyncio.Transport):
    """A client's end that takes everything."""

    max_size = 1 << 18
    closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("sockname", "peername") else default

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    abort = close

    def write(self, data: bytes | bytearray | memoryview) -> None:
        del data

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD, b"a:\r\n"),
        (b"", b"GET /health HTTP/1.1\r\n\r\n"),
        (HEAD + b"Content-Length: 9999999\r\n\r\n", b" "),
    ],
)
def test_what_is_read_in_one_go_does_not_hold_the_loop(first: bytes, piece: bytes) -> None:
    async def application(_scope: Any, _receive: Any, _send: Any) -> None:
        await asyncio.Event().wait()

    async def held_s() -> float:
        config = uvicorn.Config(
            cast(Any, application),
            http=Connection,
            ws="none",
            lifespan="off",
            log_level="critical",
            loop="asyncio",
        )
        config.load()
        wire, one = _Wire(), Connection(config, ServerState(), {})
        one.connection_made(wire)
        one.data_received(first)
        data = piece * (wire.max_size // len(piece))
        began = time.process_time()
        one.data_received(data)
        found = time.process_time() - began
        one.connection_lost(None)
        assert wire.max_size == _READ_BYTES
        return found

    assert min(asyncio.run(held_s()) for _ in range(TRIES)) <= MOST_S * slower()
