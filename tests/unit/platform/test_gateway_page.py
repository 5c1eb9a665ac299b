"""Our gateway's pages: what came, what waits, what was refused, over the time that they were looked
at.
"""

from __future__ import annotations

import pytest

from barostat.catalog.signals import SIGNALS
from barostat.gateway.metrics import Metrics
from barostat.platform.gateway_page import GatewayPage, gateway_signals

GAUGES = {"connections": 3.0, "active_requests": 7.0, "queued_requests": 2.0}


def page(
    at: float, metrics: Metrics, gateway: str = "g", held: float = 300.0, **gauges: float
) -> GatewayPage:
    """As the gateway itself writes it."""
    replicas = {
        "replica_pool_tokens": {"replica": {"a:1": 1000.0, "b:1": 500.0}},
        "replica_held_tokens": {"replica": {"a:1": held, "b:1": 0.0}},
    }
    return GatewayPage(at, metrics.page({**GAUGES, **gauges}, replicas).decode(), gateway)


def grown() -> list[GatewayPage]:
    metrics = Metrics()
    pages = [page(100.0, metrics)]
    for tokens in (100, 300, 6000, 6000):
        metrics.output_limit_tokens.observe(tokens)
        metrics.prompt_tokens.observe(tokens)
    for _ in range(4):
        metrics.count("no_output_limit_total")
    metrics.refused("no-room", "chat")
    metrics.refused("no-room", "chat")
    metrics.refused("deadline", "chat")
    metrics.answered("chat", 200)
    metrics.answered("chat", 502)
    metrics.answered("chat", 503)
    metrics.answered("chat", 499)
    return [*pages, page(110.0, metrics, held=400.0)]


def test_what_came_in_the_time() -> None:
    found = gateway_signals(grown())
    assert found["gateway_requests_per_s"].values == (0.8,)
    assert found["gateway_no_output_limit_ratio"].last == 0.5
    assert found["gateway_active_requests"].values == (7.0, 7.0)
    assert found["gateway_queued_requests"].last == 2.0
    assert found["gateway_held_ratio"].values == (0.3, 0.4)
    assert (
        found["gateway_refusals_in_window"].last,
        found["gateway_refusals_in_window"].detail,
    ) == (3.0, "no-room 2, deadline 1")
    assert found["gateway_prompt_tokens_p50"].last == 512.0
    assert found["gateway_output_limit_tokens_p95"].last == 8192.0


def test_its_own_refusals_are_no_errors_of_the_engines() -> None:
    found = gateway_signals(grown())
    assert found["gateway_5xx_ratio"].last == 0.25
    assert found["gateway_timeout_ratio"].last == 0.25


def test_several_gateways_together() -> None:
    one, other = grown(), [GatewayPage(found.at, found.text, "h") for found in grown()]
    found = gateway_signals([*one, *other])
    assert found["gateway_requests_per_s"].last == pytest.approx(1.6)
    assert found["gateway_active_requests"].last == 14.0
    assert found["gateway_held_ratio"].last == 0.4


def test_one_that_started_anew_counts_from_nought() -> None:
    first, later = grown()
    again = Metrics()
    for _ in range(3):
        again.count("no_output_limit_total")
    found = gateway_signals([first, later, page(120.0, again)])
    assert found["gateway_requests_per_s"].values == (0.8, 0.3)


@pytest.mark.parametrize(
    "text",
    ["", "vllm:num_requests_running 3", "<html>", "barostat_gateway_connections x", "\0" * 9],
)
def test_what_is_no_page_of_a_gateway_says_nothing(text: str) -> None:
    assert gateway_signals([GatewayPage(1.0, text, "g")]) == {}


def test_one_page_tells_what_is_and_no_rate() -> None:
    found = gateway_signals(grown()[1:])
    assert found["gateway_active_requests"].last == 7.0
    assert "gateway_requests_per_s" not in found
    assert set(found) <= set(SIGNALS)
