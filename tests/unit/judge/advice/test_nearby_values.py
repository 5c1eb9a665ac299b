"""The values at which a proposed change is tried."""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.proposed_change import ProposedChange, SetEdgeLimit, SetFlag
from barostat.core.window import Window
from barostat.judge.advice.nearby_values import nearby

RUNNING = signal("running_requests", [(1000.0, 8.0), (1030.0, 20.0)], "test")


def _tried(change: ProposedChange, *, running: bool = True) -> list[ProposedChange]:
    signals = {"running_requests": RUNNING} if running and RUNNING is not None else {}
    return nearby(change, Window("r", 1030.0, signals))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("watermark", [0.05, 0.01, 0.02, 0.1]),
        ("max_num_active_seqs", [6, 10, 13, 16, 18]),
        ("max_num_seqs", [32, 24, 48]),
        ("max_num_batched_tokens", [16384, 8192]),
    ],
)
def test_the_proposed_value_is_tried_first_and_then_those_around_it(
    name: str, values: list[int | float]
) -> None:
    assert _tried(SetFlag(name, values[0])) == [SetFlag(name, value) for value in values]


@pytest.mark.parametrize(
    "change",
    [SetFlag("enable_prefix_caching", True), SetEdgeLimit("request.maxInputTokens", 512)],
)
def test_a_change_without_degrees_is_tried_as_it_is(change: ProposedChange) -> None:
    assert _tried(change) == [change]


def test_without_a_count_of_running_requests_only_the_proposed_value_is_tried() -> None:
    change = SetFlag("max_num_active_seqs", 6)
    assert _tried(change, running=False) == [change]
