"""The gateway as the external processor of a real Envoy, in the configuration that
deploy/gateway/envoy/envoy.yaml ships.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev import setup_envoy
from dev.envoy import BOOTSTRAP, Envoy, processing_mode
from dev.free_port import free_port
from tests.integration.recording_engine import ANSWER, EVENT, LAST, RecordingEngine

BAROSTAT = str(Path(sys.executable).with_name("barostat"))
CHAT = "/v1/chat/completions"


class Setting:
    """An engine that records, the gateway as processor, and Envoy before them."""

    def __init__(
        self,
        folder: Path,
        request: dict[str, Any],
        change: Callable[[dict[str, Any]], None] | None,
        keys: str = "",
        blocks: int = 20_001,
    ) -> None:
        self.engine = RecordingEngine(blocks)
        port, admin, processor, envoy_admin, self.port = (free_port() for _ in range(5))
        limits = folder / "limits.yaml"
        spec = {"request": request, "slo": {"ttftP99Seconds": 1.0}}
        limits.write_text(
            json.dumps(
                {"apiVersion": "barostat.dev/v1alpha1", "kind": "ServingLimits", "spec": spec}
            )
        )
        listens = [
            "--port",
            str(port),
            "--admin-port",
            str(admin),
            "--ext-proc",
            f"127.0.0.1:{processor}",
        ]
        listens += ["--access-log", str(folder / "access.log"), "--allow-path", "/v1/other"]
        if keys:
            (folder / "keys").write_text(keys)
            listens += ["--keys", str(folder / "keys")]
        upstream = f"http://127.0.0.1:{self.engine.port}"
        self._log = (folder / "gateway.log").open("wb")
        self.gateway = subprocess.Popen(
            [BAROSTAT, "gateway", "--limits", str(limits), "--upstream", upstream, *listens],
            stderr=self._log,
        )
        self.envoy = Envoy(folder, self.port, processor, envoy_admin, change)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=20)
        self._admin = httpx.Client(base_url=f"http://127.0.0.1:{admin}", timeout=5)
        self.envoy.wait_ready()
        _until(
            lambda: (
                "external processor" in (folder / "gateway.log").read_text()
                and self.metric("pool_tokens") > 0
            )
        )

    def metric(self, name: str) -> float:
        """The sum of a metric of the gateway over its labels, 0 while it does not answer."""
        try:
            page = self._admin.get("/metrics").text
        except httpx.HTTPError:
            return 0.0
        lines = [
            line
            for line in page.splitlines()
            if line.startswith("barostat_gateway_") and name in line.partition("{")[0].split(" ")[0]
        ]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def close(self) -> None:
        """Nothing of it is left."""
        self.client.close()
        self._admin.close()
        self.envoy.close()
        self.gateway.terminate()
        self.gateway.wait(timeout=20)
        self._log.close()
        self.engine.close()


def _until(true: Callable[[], bool], for_s: float = 20) -> None:
    end = time.monotonic() + for_s
    while not true():
        assert time.monotonic() < end, "did not become true in time"
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def _real_envoy() -> None:
    if not setup_envoy.is_installed():
        why = "a real Envoy is not set up here: run `make envoy`"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)


Start = Callable[..., Setting]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    opened: list[Setting] = []

    def started(
        change: Callable[[dict[str, Any]], None] | None = None,
        keys: str = "",
        blocks: int = 20_001,
        **request: Any,
    ) -> Setting:
        opened.append(Setting(tmp_path, request, change, keys, blocks))
        return opened[-1]

    yield started
    for setting in opened:
        setting.close()


def _chat(content: str = "hello", **more: Any) -> bytes:
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    ).encode()


def test_envoy_takes_the_configuration_that_is_shipped() -> None:
    checked = subprocess.run(
        [setup_envoy.PROGRAM, "--mode", "validate", "-c", BOOTSTRAP, "--log-level", "error"],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr[-500:]


def test_what_is_admitted_arrives_as_it_was_sent(start: Start) -> None:
    setting = start()
    for body in (
        _chat(max_tokens=5, unknown_parameter=[1.0, {"é": None}]),
        _chat("x" * 400_000, max_tokens=5),
    ):
        answer = setting.client.post(CHAT, content=body, headers={"x-own": "kept"})
        assert (answer.status_code, answer.content) == (200, ANSWER)
        path, headers, arrived = setting.engine.seen[-1]
        assert (path, arrived, headers["x-own"]) == (CHAT, body, "kept")
    assert setting.client.get("/v1/models").json()["data"][0]["id"] == "m"
    assert setting.client.post("/v1/realtime/x", content=b"\x00\xff" * 50).status_code == 404
    assert setting.engine.seen[-1][0] != "/v1/realtime/x"
    _until(lambda: setting.metric("reservations") == 0)


def test_an_absent_limit_is_capped_in_the_body_and_told_in_a_header(start: Start) -> None:
    setting = start(maxOutputTokens=64, onMissingOutputLimit="cap")
    assert setting.client.post(CHAT, content=_chat()).status_code == 200
    _, headers, arrived = setting.engine.seen[-1]
    assert json.loads(arrived)["max_tokens"] == 64
    assert int(headers["content-length"]) == len(arrived)
    assert headers["x-barostat-output-cap"] == "64"


def test_refusals_are_answers_of_the_route_and_never_reach_the_engine(start: Start) -> None:
    setting = start(maxInputTokens=100, maxOutputTokens=64, onMissingOutputLimit="refuse")
    refused = {
        "no-output-limit": (400, setting.client.post(CHAT, content=_chat())),
        "output-too-long": (400, setting.client.post(CHAT, content=_chat(max_tokens=65))),
        "bad-request": (400, setting.client.post(CHAT, content=b"{")),
    }
    for reason, (status, answer) in refused.items():
        assert answer.status_code == status
        assert answer.headers["x-barostat-reason"] == reason
        assert answer.json()["error"]["code"] == reason
    anthropic = setting.client.post("/v1/messages", content=_chat(max_tokens=65)).json()
    assert anthropic["type"] == "error"
    assert [path for path, _, _ in setting.engine.seen if path != "/tokenize"] == []


def test_over_capacity_is_refused_after_its_wait_with_a_time_to_come_back(start: Start) -> None:
    setting = start(blocks=2001, maxOutputTokens=30_000)
    setting.engine.events, setting.engine.gap_s = (
        100,
        0.05,
    )  # holds its place for five seconds, of a pool of 32,000 tokens
    body = _chat("x" * 100_000, max_tokens=5_000, stream=True)  # some 25,000 tokens
    with setting.client.stream("POST", CHAT, content=body) as first:
        assert first.status_code == 200
        began = time.monotonic()
        second = setting.client.post(CHAT, content=body)
        assert second.status_code in (429, 503)
        assert int(second.headers["retry-after"]) >= 1
        assert time.monotonic() - began < 4
        assert setting.metric("reservations") == 1
    _until(lambda: setting.metric("reservations") == 0)


def test_a_stream_holds_its_reservation_to_its_end_and_a_client_that_leaves_returns_it(
    start: Start,
) -> None:
    setting = start()
    setting.engine.events, setting.engine.gap_s = 20, 0.05
    body = _chat(max_tokens=50, stream=True)
    with setting.client.stream("POST", CHAT, content=body) as answer:
        whole = b""
        for data in answer.iter_raw():
            whole += data
            if whole.endswith(EVENT):
                assert setting.metric("reservations") == 1
        assert whole == EVENT * 20 + LAST
    _until(lambda: setting.metric("reservations") == 0)
    setting.engine.events = 2000
    with setting.client.stream("POST", CHAT, content=body) as answer:
        coming = answer.iter_raw()  # kept: one that is collected closes the answer
        assert (answer.status_code, next(coming)) == (200, EVENT)
        assert setting.metric("reservations") == 1
    _until(lambda: setting.metric("reservations") == 0, 5)


def test_who_left_is_told_from_an_engine_that_failed(start: Start, tmp_path: Path) -> None:
    setting = start()
    assert (
        setting.client.post(CHAT, content=_chat(max_tokens=5)).status_code == 200
    )  # a head that is shown
    setting.engine.breaks = True
    assert setting.client.post(CHAT, content=_chat(max_tokens=5)).status_code == 503
    setting.engine.breaks, setting.engine.before_s = False, 5.0
    with pytest.raises(httpx.ReadTimeout):
        setting.client.post(CHAT, content=_chat(max_tokens=5), timeout=0.5)
    _until(lambda: setting.metric("clients_gone_total") == 1)
    _until(lambda: (tmp_path / "access.log").read_text().count("\n") == 3)
    lines = map(json.loads, (tmp_path / "access.log").read_text().splitlines())
    assert [(line["status"], line["reason"]) for line in lines] == [
        (200, ""),
        (503, ""),
        (499, "client-gone"),
    ]


def test_a_tenants_key_is_asked_for_and_goes_no_further(start: Start) -> None:
    setting = start(keys="chat: secret-of-chat\n")
    for headers in ({}, {"authorization": "Bearer wrong"}):
        assert (
            setting.client.post(CHAT, content=_chat(max_tokens=5), headers=headers).status_code
            == 401
        )
    assert (
        setting.client.post(
            CHAT, content=_chat(max_tokens=5), headers={"authorization": "Bearer secret-of-chat"}
        ).status_code
        == 200
    )
    ((_, headers, _),) = setting.engine.seen
    assert "authorization" not in headers


def test_without_a_processor_nothing_reaches_an_engine(start: Start) -> None:
    setting = start()
    setting.gateway.send_signal(signal.SIGKILL)
    setting.gateway.wait()
    assert setting.client.post(CHAT, content=_chat(max_tokens=5)).status_code >= 500
    assert setting.engine.seen == []


def test_a_client_does_not_choose_its_engine(start: Start) -> None:
    setting = start()
    other = RecordingEngine()
    named = {"x-gateway-destination-endpoint": f"127.0.0.1:{other.port}"}
    assert setting.client.post(CHAT, content=_chat(max_tokens=5), headers=named).status_code == 200
    assert setting.client.get("/v1/models", headers=named).status_code == 200
    assert (len(setting.engine.seen), len(other.seen)) == (1, 0)
    other.close()


def _without_answers(document: dict[str, Any]) -> None:
    """The least that Envoy can be asked for: nothing of the answer is shown but its end."""
    processing_mode(document)["response_header_mode"] = "SKIP"


def test_a_reservation_is_held_to_the_end_of_an_answer_that_is_not_shown(start: Start) -> None:
    setting = start(_without_answers)
    setting.engine.events, setting.engine.gap_s = 10, 0.1
    with setting.client.stream("POST", CHAT, content=_chat(max_tokens=50, stream=True)) as answer:
        coming = answer.iter_raw()
        next(coming)
        assert setting.metric("reservations") == 1
        assert b"".join(coming).endswith(LAST)
    _until(lambda: setting.metric("reservations") == 0)


def _full_duplex(document: dict[str, Any]) -> None:
    """As the endpoint picker protocol has it."""
    mode = processing_mode(document)
    mode |= {"request_body_mode": "FULL_DUPLEX_STREAMED", "request_trailer_mode": "SEND"}
    mode |= {"response_body_mode": "FULL_DUPLEX_STREAMED", "response_trailer_mode": "SEND"}


def test_full_duplex_as_gateways_call_an_endpoint_picker(start: Start) -> None:
    setting = start(_full_duplex, maxOutputTokens=64, onMissingOutputLimit="cap")
    for body in (_chat(max_tokens=5), _chat("x" * 400_000, max_tokens=5)):
        answer = setting.client.post(CHAT, content=body)
        assert (answer.status_code, answer.content) == (200, ANSWER)
        assert setting.engine.seen[-1][2] == body
    assert setting.client.post(CHAT, content=_chat(stream=True)).content == EVENT * 5 + LAST
    assert json.loads(setting.engine.seen[-1][2])["max_tokens"] == 64
    assert setting.client.post("/v1/other", content=b"\x00\xff" * 90_000).status_code == 200
    assert setting.engine.seen[-1][2] == b"\x00\xff" * 90_000
    assert setting.client.post(CHAT, content=b"{").status_code == 400
    _until(lambda: setting.metric("output_tokens_count") == 3)  # read from the answers' usage
    _until(lambda: setting.metric("reservations") == 0)
