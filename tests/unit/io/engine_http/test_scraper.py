"""One engine asked: what it says, and what is no engine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.gateway_wire import HEAD, World
from tests.support.small_servers import (
    METRICS,
    Handler,
    always,
    answer,
    closed_port,
    serving,
    silence,
    vllm,
)

from barostat.gateway.live_limits.admin import AdminDoor
from barostat.gateway.live_limits.limits_in_force import LimitsInForce
from barostat.gateway.messages.refusal_bodies import answer as refusal
from barostat.io.clock import SteadyClock
from barostat.io.engine_http.address import address
from barostat.io.engine_http.route import DirectRoute
from barostat.io.engine_http.scraper import Scraper


def _looked(port: int, then: Callable[[Scraper], Awaitable[None]] | None = None) -> Scraper:
    async def look() -> Scraper:
        scraper = Scraper(DirectRoute(address(f"localhost:{port}")), SteadyClock())
        await scraper.look()
        if then is not None:
            await then(scraper)
        await scraper.close()
        return scraper

    return asyncio.run(look())


def test_an_engine_tells_its_metrics_its_version_its_length_and_its_health() -> None:
    with serving(vllm()) as (port, seen):
        scraper = _looked(port)
    assert [scrape.text for scrape in scraper.scrapes] == [METRICS]
    assert scraper.scrapes[0].source == f"http://localhost:{port}/metrics"
    assert scraper.probe is not None
    assert (scraper.probe.health_ok, scraper.probe.version, scraper.probe.max_model_len) == (
        True,
        "0.32.0",
        4096,
    )
    assert scraper.probe.token_ok is None
    assert sorted(line.split()[1] for line in seen) == [
        "/health",
        "/metrics",
        "/v1/models",
        "/version",
    ]
    assert (scraper.failed, scraper.problems, scraper.not_vllm) == ([], [], "")


def test_an_api_key_leaves_the_length_unknown_and_nothing_else() -> None:
    with serving(vllm(models=answer('{"error": "Unauthorized"}', "401 Unauthorized"))) as (port, _):
        scraper = _looked(port)
    assert len(scraper.scrapes) == 1
    assert scraper.probe is not None
    assert (scraper.probe.max_model_len, scraper.probe.version) == (None, "0.32.0")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("503 Service Unavailable", False),
        ("500 Internal Server Error", False),
        ("404 Not Found", None),
    ],
)
def test_health_is_what_the_engine_says_of_itself(status: str, expected: bool | None) -> None:
    with serving(vllm(health=answer("", status))) as (port, _):
        scraper = _looked(port)
    assert scraper.probe is not None
    assert scraper.probe.health_ok is expected


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        (
            always(answer("<!DOCTYPE html><html><body>Grafana</body></html>", kind="text/html")),
            "/metrics is an HTML page",
        ),
        (always(answer("")), "/metrics is empty"),
        (always(answer('{"ok": true}', kind="application/json")), "/metrics is JSON"),
        (always(answer("no", "404 Not Found")), "/metrics answers HTTP 404"),
        (
            vllm(
                metrics=answer("# TYPE node_load1 gauge\nnode_load1 0.5\n"),
                version=answer("", "404 Not Found"),
            ),
            "the metrics of another program",
        ),
        (always(answer(b"\0\1\2\3" * 100)), "not vLLM: /metrics"),
        (always(answer("hello\n")), "not vLLM: /metrics"),
    ],
)
def test_what_answers_and_is_no_vllm_is_named_for_what_it_is(handle: Handler, said: str) -> None:
    with serving(handle) as (port, _):
        scraper = _looked(port)
    assert scraper.not_vllm.startswith(f"http://localhost:{port} answers, but it is not vLLM: ")
    assert scraper.not_vllm.endswith("; give the address of the engine itself")
    assert said in scraper.not_vllm
    assert scraper.scrapes == []
    assert [why for _, why in scraper.failed] == [scraper.not_vllm]


def test_a_gateway_of_ours_is_named_with_what_to_look_at_instead(tmp_path: Path) -> None:
    world = World()
    file = tmp_path / "limits.yaml"
    file.write_text(f"{HEAD}  request: {{maxOutputTokens: 100}}\n")
    limits = LimitsInForce(file, world.metrics)
    (engine,) = world.replicas
    page = AdminDoor(world.gateway, limits, "").answer(b"GET", b"/metrics", b"", b"")
    with serving(always(page)) as (port, _):
        scraper = _looked(port)
    assert scraper.not_vllm == (
        f"http://localhost:{port} is the admin port of a Barostat gateway, not an engine; diagnose "
        f"the engines behind it: http://{engine.name}"
    )
    unlisted = refusal(404, "path-not-listed", "GET /metrics is not served here")
    with serving(always(unlisted)) as (port, _):
        scraper = _looked(port)
    assert scraper.not_vllm.startswith(
        f"http://localhost:{port} is a Barostat gateway, not an engine; diagnose the engines behind"
    )
    assert [why for _, why in scraper.failed] == [scraper.not_vllm]


@pytest.mark.parametrize(
    "status", ["500 Internal Server Error", "401 Unauthorized", "502 Bad Gateway"]
)
def test_an_error_of_the_server_is_a_failed_scrape_and_no_verdict_about_what_it_is(
    status: str,
) -> None:
    with serving(vllm(metrics=answer('{"error": {"message": "boom"}}', status))) as (port, _):
        scraper = _looked(port)
    assert scraper.not_vllm == ""
    assert len(scraper.failed) == 1
    assert f"HTTP {status[:3]}" in scraper.failed[0][1]


def test_an_engine_without_statistics_is_still_an_engine() -> None:
    with serving(
        vllm(
            metrics=answer(
                "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 5.0\n"
            )
        )
    ) as (port, _):
        scraper = _looked(port)
    assert len(scraper.scrapes) == 1
    assert scraper.problems == [
        (
            f"http://localhost:{port}: /metrics shows no engine's series: Prometheus "
            "metrics, but none of vLLM's: another server, or "
            "a vLLM started with --disable-log-stats"
        )
    ]


def test_a_router_is_not_told_that_its_engine_says_nothing() -> None:
    with serving(
        vllm(
            metrics=answer(
                "# TYPE vllm:num_requests_running "
                'gauge\nvllm:num_requests_running{server="http://a:8000"} 3\n'
            )
        )
    ) as (
        port,
        _,
    ):
        scraper = _looked(port)
    assert "a router's own metrics" in scraper.problems[0]
    assert "--disable-log-stats" not in scraper.problems[0]


def test_half_a_scrape_is_kept_with_a_remark() -> None:
    with serving(vllm(metrics=answer(METRICS)[:-40])) as (port, _):
        scraper = _looked(port)
    assert [METRICS.startswith(scrape.text) for scrape in scraper.scrapes] == [True]
    assert len(scraper.problems) == 1
    assert "broke off in the middle of the answer; what came was used" in scraper.problems[0]


def test_nothing_at_the_address_is_a_failed_scrape() -> None:
    scraper = _looked(closed_port())
    assert (scraper.answered, scraper.scrapes) == (False, [])
    assert "refuses the connection" in scraper.failed[0][1]
    assert scraper.hopeless


def test_a_probe_sends_one_request_of_one_token_and_no_second_one() -> None:
    async def twice(scraper: Scraper) -> None:
        await scraper.send_token()
        await scraper.send_token()

    with serving(vllm()) as (port, seen):
        scraper = _looked(port, twice)
    (sent,) = [line for line in seen if line.startswith("POST")]
    assert sent.startswith("POST /v1/completions")
    assert '"max_tokens":1' in sent.replace(" ", "")
    assert scraper.probe is not None
    assert scraper.probe.token_ok is True
    assert scraper.probe.token_detail.startswith("one token in")


def test_a_server_for_chat_only_is_asked_by_chat() -> None:
    def chat(connection: socket.socket, request: str) -> None:
        wrong = request.startswith("POST /v1/completions")
        (always(answer("no", "404 Not Found")) if wrong else vllm())(connection, request)

    with serving(chat) as (port, seen):
        scraper = _looked(port, lambda scraper: scraper.send_token())
    assert [line.split()[1] for line in seen if line.startswith("POST")] == [
        "/v1/completions",
        "/v1/chat/completions",
    ]
    assert scraper.probe is not None
    assert scraper.probe.token_ok is True


@pytest.mark.parametrize(
    ("completions", "expected", "said"),
    [
        (answer("", "401 Unauthorized"), None, "the server wants an API key"),
        (
            answer('{"error": {"message": "busy"}}', "503 Service Unavailable"),
            None,
            "HTTP 503, busy",
        ),
        (
            answer('{"error": {"message": "EngineCore died"}}', "500 Internal Server Error"),
            False,
            "HTTP 500, EngineCore died",
        ),
        (answer('{"x": 1}')[:-3], False, "broke off"),
    ],
)
def test_a_probe_tells_a_refusal_from_a_failure(
    completions: bytes, expected: bool | None, said: str
) -> None:
    with serving(vllm(completions=completions)) as (port, _):
        scraper = _looked(port, lambda scraper: scraper.send_token())
    assert scraper.probe is not None
    assert scraper.probe.token_ok is expected
    assert said in scraper.probe.token_detail


@pytest.mark.usefixtures("on_virtual_time")
def test_a_probe_of_a_hung_engine_takes_its_time_and_no_more() -> None:
    def hung(connection: socket.socket, request: str) -> None:
        if request.startswith("POST"):
            silence(connection)
        else:
            vllm()(connection, request)

    with serving(hung) as (port, _):
        scraper = _looked(port, lambda scraper: scraper.send_token(0.3))
    assert scraper.probe is not None
    assert (scraper.probe.token_ok, scraper.probe.token_detail) == (False, "no token within 0.3 s")


def test_the_served_name_comes_from_the_metrics_where_the_models_are_guarded() -> None:
    with serving(vllm(models=answer("", "401 Unauthorized"))) as (port, seen):
        _looked(port, lambda scraper: scraper.send_token())
    assert [line for line in seen if '"m"' in line]


def test_what_is_old_is_forgotten_but_for_the_left_end_of_the_window() -> None:
    with serving(vllm()) as (port, _):
        scraper = _looked(port)
    first = scraper.scrapes[0]
    scraper.scrapes = [first.__class__(at, "", "") for at in (1.0, 2.0, 3.0, 4.0)]
    scraper.failed = [(1.5, "x"), (3.5, "y")]
    scraper.forget_before(3.0)
    assert [scrape.at for scrape in scraper.scrapes] == [2.0, 3.0, 4.0]
    assert scraper.failed == [(3.5, "y")]
