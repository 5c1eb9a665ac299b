"""The gateway's metrics that alerts read are the gateway's."""

from __future__ import annotations

from typing import get_args

from barostat.admit.decision import Reason
from barostat.alerts.gateway_names import (
    ACTIVE,
    FIRST_BYTES,
    REFUSALS,
    REQUESTS,
    UP,
    WANT_OF_ROOM,
    gateway_terms,
)
from barostat.alerts.terms import Terms
from barostat.gateway.metrics import Metrics


def test_the_names_are_on_the_gateways_page() -> None:
    metrics = Metrics()
    metrics.answered("completions", 503)
    metrics.refused("over-capacity", "completions")
    page = metrics.page(
        {},
        {"replica_up": {"replica": {"a": 1.0}}, "replica_active_requests": {"replica": {"a": 1.0}}},
    ).decode()
    shown = {line.partition("{")[0].partition(" ")[0] for line in page.splitlines()}
    assert {REQUESTS, REFUSALS, FIRST_BYTES, UP, ACTIVE} <= shown


def test_want_of_room_is_a_part_of_the_reasons() -> None:
    assert set(WANT_OF_ROOM) < set(get_args(Reason))


def test_the_gateway_has_no_model() -> None:
    assert gateway_terms(
        Terms(labels={"namespace": "x", "model_name": "m", "pod": "~v"})
    ).labels == {"namespace": "x"}
