"""More than 300 attacks on the gateway as a process, with uvicorn behind it. None may get through.

Through: the engine receives more tokens than a limit allows, its key reaches a path that is not
listed, or a reservation outlives its client by 10 s.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dev.gateway_process import GatewayProcess
from tests.integration.counting_engine import Arrived, CountingEngine
from tests.integration.gateway_attacks import (
    FIN,
    FREE,
    KEYS,
    LIMITS,
    LISTED,
    MAX_INPUT,
    MAX_OUTPUT,
    PAID,
    Attack,
    attacks,
    completion,
    marked,
    sent,
)
from tests.integration.gateway_dialect_attacks import dialect_attacks
from tests.integration.gateway_guide_attacks import guide_attacks
from tests.integration.gateway_state_attacks import state_attacks

ENGINE_KEY = "engine-key-7f21d"
MOST_ANSWERS = 128
AT_ONCE = 32
ALL = [
    *attacks(),
    *marked(state_attacks()),
    *marked(dialect_attacks()),
    *marked(guide_attacks()),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[CountingEngine]:
    running = CountingEngine()
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(
    engine: CountingEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("attacks")
    (folder / "keys").write_text(KEYS)
    (folder / "engine").write_text(ENGINE_KEY)
    options = ("--keys", str(folder / "keys"), "--engine-key-file", str(folder / "engine"))
    with GatewayProcess(
        folder, LIMITS, f"http://127.0.0.1:{engine.port}", options=options
    ) as running:
        yield running


def carry_out(attack: Attack, port: int, patience_s: float = 0.5) -> bytes:
    """The bytes of the answer that come before the client loses its patience."""
    heard = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
        for step in attack.steps:
            if isinstance(step, bytes):
                client.sendall(step)
            elif isinstance(step, float):
                time.sleep(step)
            elif step == FIN:
                return b""
            else:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return b""
        client.settimeout(patience_s)
        while more := client.recv(65536):
            heard += more
            client.settimeout(0.2)
    return heard


def why_through(arrived: Arrived, kind: str) -> str:
    """What the engine should not have received, "" where that is nothing."""
    if arrived.path not in LISTED:
        return f"{arrived.method} reached {arrived.path!r}"
    if kind in ("key", "key-2", "key-3") and arrived.attack:
        return "a request without a known key was served"
    if arrived.input_tokens > MAX_INPUT:
        return f"{arrived.input_tokens} tokens of input"
    if arrived.output_tokens > MAX_OUTPUT:
        return f"{arrived.output_tokens} tokens of output"
    if arrived.answers > MOST_ANSWERS:
        return f"{arrived.answers} answers"
    if any(key in arrived.key for key in (PAID, FREE)):
        return "a tenant's key reached the engine"
    return ""


def test_no_attack_gets_through(gateway: GatewayProcess, engine: CountingEngine) -> None:
    assert len({(one.kind, one.name) for one in ALL}) == len(ALL) >= 1040
    names = {one.mark: f"{one.kind}: {one.name}" for one in ALL}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda one: carry_out(one, gateway.port), ALL))
    gone_at = time.monotonic()
    while engine.running and time.monotonic() < gone_at + 10:
        time.sleep(0.1)
    through = [
        f"{names.get(arrived.attack, 'not marked')}: {why}"
        for arrived in engine.seen
        if (why := why_through(arrived, arrived.attack.rpartition("-")[0]))
    ]
    through += [f"{names[one]}: outlived its client by 10 s" for one in engine.running]
    assert not through, "\n".join(through)
    assert len({one.attack for one in engine.seen}) > 50  # what is only odd is served
    gateway.until("barostat_gateway_active_requests", 0.0, 1)
    assert gateway.process.poll() is None
    assert "Traceback" not in gateway.log


def test_what_is_within_the_limits_passes(gateway: GatewayProcess, engine: CountingEngine) -> None:
    """The control: the same client, key and engine, with nothing wrong."""
    before = len(engine.seen)
    answer = carry_out(Attack("none", "", "", (asked(PAID, completion()),)), gateway.port)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    (arrived,) = engine.seen[before:]
    assert (arrived.key, arrived.output_tokens) == (f"Bearer {ENGINE_KEY}", 5)


def test_a_tenants_requests_at_once(gateway: GatewayProcess, engine: CountingEngine) -> None:
    """Forty at the same time, three are allowed."""
    one = Attack("tenant", "", "", (asked(FREE, completion(user="slow")),))
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda _: carry_out(one, gateway.port, 10), range(40)))
    assert 1 <= engine.most["slow"] <= 3


def asked(key: str, body: bytes) -> bytes:
    """A completion with this key."""
    return sent(f"POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer {key}", body, mark="")


def test_limits_that_change_meanwhile(engine: CountingEngine, tmp_path: Path) -> None:
    """Written while they are read: tighter, in half, empty and gone. The last right ones hold."""
    (tmp_path / "keys").write_text(KEYS)
    tighter = LIMITS.replace(f"maxOutputTokens: {MAX_OUTPUT}", "maxOutputTokens: 40")
    whole = (LIMITS, tighter)
    requests = [asked(PAID, completion(max_tokens=100_000, user="race"))] * 300
    url = f"http://127.0.0.1:{engine.port}"
    with GatewayProcess(
        tmp_path, LIMITS, url, options=("--keys", str(tmp_path / "keys"))
    ) as racing:
        before, done = len(engine.seen), threading.Event()

        def write() -> None:
            for at in itertools.cycle(range(5)):
                if done.wait(0.01):
                    return
                if at < 2:
                    racing.write(whole[at])
                elif at < 4:
                    racing.limits.write_text(racing.limits.read_text()[: 40 * (3 - at)])
                else:
                    racing.limits.unlink()
                racing.process.send_signal(signal.SIGHUP)

        writer = threading.Thread(target=write)
        writer.start()
        with ThreadPoolExecutor(16) as pool:
            list(
                pool.map(
                    lambda one: carry_out(Attack("", "", "", (one,)), racing.port, 2), requests
                )
            )
        done.set()
        writer.join()
        arrived = engine.seen[before:]
        assert arrived
        assert {one.output_tokens for one in arrived} <= {40, MAX_OUTPUT}
        assert racing.process.poll() is None
        assert "Traceback" not in racing.log
