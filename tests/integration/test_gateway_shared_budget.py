"""Two gateways before one engine, which together admit what it holds: embedded, and dying with
reservations held.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from dev.free_port import free_port
from tests.integration.recording_engine import RecordingEngine
from tests.integration.test_gateway_envoy import BAROSTAT, CHAT, _chat, _until
from tests.integration.test_shared_budget import Server, server

__all__ = ["server"]


class Gateway:
    """One gateway as a process."""

    def __init__(
        self, folder: Path, engine: RecordingEngine, redis: Server, name: str, policy: str = ""
    ) -> None:
        port, admin = free_port(), free_port()
        limits = folder / "limits.yaml"
        edge: dict[str, object] = {"queueDeadlineSeconds": 0.5}
        if policy:
            edge["failurePolicy"] = {"kvTokenBudget": policy}
        spec = {"request": {"maxOutputTokens": 4000}, "edge": edge}
        limits.write_text(
            json.dumps(
                {"apiVersion": "barostat.dev/v1alpha1", "kind": "ServingLimits", "spec": spec}
            )
        )
        command = [
            BAROSTAT,
            "gateway",
            "--limits",
            str(limits),
            "--upstream",
            f"http://127.0.0.1:{engine.port}",
            "--port",
            str(port),
        ]
        command += [
            "--admin-port",
            str(admin),
            "--shared-budget",
            redis.url,
            "--shared-budget-name",
            name,
        ]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
        self.port = port
        _until(self._ready)

    def _ready(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def stream(self) -> threading.Thread:
        """A long stream of a prompt of some 25,000 tokens is under way in a thread."""

        def ask() -> None:
            with (
                httpx.Client(timeout=60) as client,
                client.stream(
                    "POST", f"http://127.0.0.1:{self.port}{CHAT}", content=LONG
                ) as answer,
            ):
                try:
                    for _ in answer.iter_raw():
                        pass
                except httpx.HTTPError:
                    return

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return thread


def served(engine: RecordingEngine) -> int:
    """Requests that the engine has got, counts aside."""
    return sum(path == CHAT for path, _, _ in engine.seen)


LONG = _chat("x" * 100_000, max_tokens=4000, stream=True)
Start = Callable[[str], Gateway]


@pytest.fixture
def engine() -> Iterator[RecordingEngine]:
    started = RecordingEngine(
        blocks=2001, events=400, gap_s=0.05
    )  # 32,000 tokens; a stream takes twenty seconds
    yield started
    started.close()


@pytest.fixture
def start(tmp_path: Path, engine: RecordingEngine, server: Server) -> Iterator[Start]:
    gateways: list[Gateway] = []

    def started(name: str) -> Gateway:
        gateways.append(Gateway(tmp_path, engine, server, name))
        return gateways[-1]

    yield started
    for gateway in gateways:
        gateway.client.close()
        gateway.process.kill()
        gateway.process.wait()


def test_two_gateways_admit_together_what_the_engine_holds(
    start: Start, engine: RecordingEngine, server: Server
) -> None:
    one, other = start("together"), start("together")
    one.stream()
    _until(lambda: served(engine) == 1)
    assert sum(server.held("together").values()) > 24_000
    refused = other.client.post(CHAT, content=LONG)
    assert (refused.status_code, refused.headers["x-barostat-reason"]) == (429, "over-capacity")
    assert int(refused.headers["retry-after"]) >= 1
    assert served(engine) == 1
    engine.events = 1
    assert (
        other.client.post(CHAT, content=_chat(max_tokens=5)).status_code == 200
    )  # what fits passes
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    began = time.monotonic()
    _until(lambda: other.client.post(CHAT, content=LONG).status_code == 200, 40)
    assert time.monotonic() - began > 3, "not before its lease has ended"
    _until(lambda: server.held("together") == {})


@pytest.mark.parametrize(("policy", "status"), [("open", 200), ("closed", 503), ("", 503)])
def test_without_redis_the_failure_policy_decides(
    server: Server, tmp_path: Path, engine: RecordingEngine, policy: str, status: int
) -> None:
    del server  # one of its own is killed here; the fixture says whether there is any
    own = Server(tmp_path / "own")
    engine.events = 1
    gateway = Gateway(tmp_path, engine, own, "alone", policy)
    try:
        assert gateway.client.post(CHAT, content=_chat(max_tokens=5)).status_code == 200
        own.kill()
        assert gateway.client.post(CHAT, content=_chat(max_tokens=5)).status_code == status
    finally:
        gateway.process.kill()
        gateway.process.wait()
