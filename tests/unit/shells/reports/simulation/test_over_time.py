"""What is drawn of a run stands where the requests came, and says what they met."""

from __future__ import annotations

from barostat.shells.reports.sheet.blocks import Charts
from barostat.shells.reports.simulation.over_time import (
    between_tokens_s,
    by_arrival,
    first_token_s,
    one_over_time,
)
from barostat.twin.intake import NS
from barostat.twin.outcome import Life, Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, summarise


def _life(
    arrival_s: float,
    wait_s: float | None,
    tokens: int = 11,
    last_s: float = 1.0,
    preemptions: int = 0,
) -> Life:
    came = round(arrival_s * NS)
    first = None if wait_s is None else came + round(wait_s * NS)
    done = None if first is None else first + round(last_s * NS)
    return Life("r", came, 10, tokens, came, first, done, preemptions)


def test_a_latency_is_that_of_the_request_that_came_then() -> None:
    points = by_arrival([_life(0, 1.0), _life(0.1, 3.0), _life(100, 7.0)], first_token_s, max)
    assert [value for _, value in points] == [3.0, 7.0]
    assert points[0][0] < 3 < 97 < points[1][0]


def test_what_did_not_happen_is_no_point() -> None:
    assert by_arrival([], first_token_s, max) == []
    assert by_arrival([_life(0, None)], first_token_s, max) == []
    assert between_tokens_s(_life(0, 1.0, tokens=1)) is None
    assert between_tokens_s(_life(0, None)) is None
    assert between_tokens_s(_life(0, 1.0, tokens=11, last_s=1.0)) == 0.1


def test_the_run_is_drawn_with_its_service_level() -> None:
    settings = Settings(101)
    lives = [_life(place, 0.5 + place, preemptions=2 * (place == 3)) for place in range(5)]
    outcome = Outcome(
        lives=lives,
        load=[(place * NS, 40, 2, 1) for place in range(10)],
        end_ns=10 * NS,
        preemptions=2,
    )
    (drawn,) = one_over_time(
        settings, outcome, summarise(outcome, settings.usable_blocks), Slo(2.0, None)
    )
    assert isinstance(drawn, Charts)
    assert [chart.title for chart in drawn.charts] == [
        "First token", "Between tokens", "Preemptions", "KV usage", "Running", "Waiting",
    ]  # fmt: skip
    assert [limit for chart in drawn.charts for limit in chart.limits] == [
        (2.0, "SLO 2 s"), (256.0, "limit 256"),
    ]  # fmt: skip
    assert one_over_time(settings, Outcome(), summarise(Outcome(), 100), Slo()) == []
