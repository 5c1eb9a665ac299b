"""What came of requests, in numbers; and when the sender's own lateness spoils them."""

from __future__ import annotations

import pytest

from barostat.judge.load_test.figures import Collected, Gaps, Reading, Sent, figures, keeping
from barostat.twin.summary import Slo


def sent(
    at_s: float,
    *,
    late_s: float = 0.0,
    ttft_s: float = 0.1,
    tokens: int = 11,
    fate: str = "ok",
    reason: str = "",
) -> Sent:
    one = Sent(at_s, at_s + late_s, 100, tokens, fate=fate, reason=reason)  # type: ignore[arg-type]
    if fate == "ok":
        one.first_s, one.last_s, one.ended_s = (
            at_s + ttft_s,
            at_s + ttft_s + 0.02 * (tokens - 1),
            at_s + ttft_s + 0.02 * tokens,
        )
        one.produced, one.events, one.counted_input = tokens, tokens, 101
    return one


def run(*all_sent: Sent, duration_s: float = 10.0, cpu_s: float = 1.0, **rest: object) -> Collected:
    return Collected(sent=list(all_sent), duration_s=duration_s, cpu_s=cpu_s, **rest)  # type: ignore[arg-type]


def test_answers_refusals_and_errors_are_counted_apart() -> None:
    found = figures(
        run(
            *(sent(place / 10) for place in range(80)),
            *(sent(place / 10, fate="refused", reason="429 queue-full") for place in range(15)),
            sent(9, fate="error", reason="connection refused"),
            sent(9.9, fate="cut"),
        )
    )
    assert (found.sent, found.ok, found.refused, found.errors, found.cut) == (97, 80, 15, 1, 1)
    assert found.reasons == {"429 queue-full": 15, "connection refused": 1}
    assert found.ok_per_s == 8.0
    assert found.output_tokens_per_s == 88.0
    assert found.ttft.p99 == pytest.approx(0.1)
    assert found.tpot.p50 == pytest.approx(0.02)
    assert found.input_off_ratio == pytest.approx(0.01)
    assert sum(one.done_per_s for one in found.stretches) * 10 / 60 == pytest.approx(80)


def test_good_is_what_keeps_both_levels() -> None:
    both = run(sent(0), sent(1, ttft_s=0.5), sent(2))
    assert figures(both, Slo(0.3, None)).good == 2
    assert figures(both, Slo(None, 0.01)).good == 0
    assert figures(both).good == 3


def test_latencies_count_from_when_a_request_was_due() -> None:
    assert figures(run(sent(1, late_s=0.05, ttft_s=0.2))).ttft.p50 == pytest.approx(0.2)


def test_gaps_are_kept_to_half_a_percent_and_none_is_lost() -> None:
    gaps = Gaps()
    for place in range(1, 1001):
        gaps.add(place / 1000)
    found = gaps.spread()
    assert found.count == 1000
    assert found.p50 == pytest.approx(0.5, rel=0.01)
    assert found.p99 == pytest.approx(0.99, rel=0.01)
    assert found.mean == pytest.approx(0.5005, rel=0.01)
    gaps.add(0.0)
    assert gaps.spread().count == 1001


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (run(*(sent(place, late_s=0.03) for place in range(10))), "late"),
        (run(sent(0), lags_s=[0.2]), "event loop"),
        (run(sent(0), cpu_s=9.8), "98% of its one core"),
    ],
)
def test_a_sender_that_does_not_keep_up_says_so(spoilt: Collected, told: str) -> None:
    assert told in keeping(spoilt).trouble
    assert figures(spoilt).keeping.trouble


def test_lateness_that_is_not_in_the_figures_is_none() -> None:
    slow = run(*(sent(place, late_s=0.03, ttft_s=2.0) for place in range(10)))
    assert keeping(slow).trouble == ""
    assert keeping(slow).late.p99 == pytest.approx(0.03)
    assert keeping(run()).trouble == ""


def test_the_engines_own_figures_are_the_difference_over_the_run() -> None:
    readings = [Reading(0, 0.2, 3, 0, 5), Reading(1, 0.9, 8, 4, 6), Reading(2, 0.4, 2, 0, 9)]
    found = figures(run(sent(0), readings=readings)).engine
    assert found is not None
    assert (found.usage_max_ratio, found.running_max, found.waiting_max, found.preemptions) == (
        0.9,
        8,
        4,
        4,
    )
    assert figures(run(sent(0))).engine is None
