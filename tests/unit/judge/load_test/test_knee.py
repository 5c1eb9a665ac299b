"""The bisection finds the knee of an engine of which it is known, and is not fooled by luck."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.judge.load_test.figures import Collected, Figures, Sent, figures
from barostat.judge.load_test.knee import Bisection, Knee, Trial, Tried, falls_behind, judged, lost
from barostat.twin.summary import Slo


def answered(ttft_s: float = 0.1, count: int = 100, **rest: Any) -> Figures:
    made = [
        Sent(
            place / 10,
            place / 10,
            10,
            5,
            first_s=place / 10 + ttft_s,
            last_s=place / 10 + ttft_s,
            ended_s=place / 10 + ttft_s,
            fate="ok",
        )
        for place in range(count)
    ]
    return figures(Collected(made, duration_s=max(one.ended_s or 0 for one in made), **rest))


def searched(knee_per_s: float, start_per_s: float, **options: Any) -> Knee:
    search = Bisection(start_per_s, **options)
    while (trial := search.following()) is not None:
        search.tell(
            Tried(
                trial.per_s,
                "" if trial.per_s <= knee_per_s else "too much",
                answered(),
                times=trial.times,
            )
        )
    return search.knee


@pytest.mark.parametrize("start_per_s", [0.5, 3.0, 7.3, 80.0])
def test_the_interval_holds_the_knee_and_is_as_narrow_as_asked(start_per_s: float) -> None:
    found = searched(7.0, start_per_s, trials=20)
    assert found.held_per_s is not None
    assert found.lost_per_s is not None
    assert found.held_per_s <= 7.0 < found.lost_per_s <= found.held_per_s * 1.0401


def test_trials_end_and_what_was_not_found_is_none() -> None:
    found = searched(1e9, 1.0, trials=4)
    assert found.lost_per_s is None
    assert len(found.tried) == 4
    assert searched(0.0, 1.0, trials=3).held_per_s is None


@pytest.mark.parametrize("start_per_s", [0.5, 3.0, 7.3, 80.0])
@pytest.mark.parametrize("lenient", [1.08, 1.3])
def test_a_load_that_only_a_short_trial_passes_is_not_the_knee(
    start_per_s: float, lenient: float
) -> None:
    search = Bisection(start_per_s, trials=30)
    while (trial := search.following()) is not None:
        fits = 7.0 * (lenient if trial.times == 1 else 1.0)
        search.tell(
            Tried(
                trial.per_s,
                "" if trial.per_s <= fits else "too much",
                answered(),
                times=trial.times,
            )
        )
    found = search.knee
    assert found.held_per_s is not None
    assert found.lost_per_s is not None
    assert found.held_per_s <= 7.0 < found.lost_per_s <= found.held_per_s * 1.0401
    assert any(one.times > 1 and one.per_s == found.held_per_s for one in found.tried)


def test_the_last_trial_is_kept_for_what_held() -> None:
    search = Bisection(4.0, trials=4)
    tried = []
    while (trial := search.following()) is not None:
        tried.append(trial)
        search.tell(
            Tried(
                trial.per_s, "" if trial.per_s <= 5.0 else "too much", answered(), times=trial.times
            )
        )
    assert (len(tried), tried[-1]) == (4, Trial(4.0, 3))


def test_a_load_above_one_that_was_lost_is_luck() -> None:
    search = Bisection(4.0)
    for per_s, why in ((4.0, ""), (8.0, ""), (6.0, "TTFT")):
        search.tell(Tried(per_s, why, answered()))
    assert (search.knee.held_per_s, search.knee.lost_per_s) == (4.0, 6.0)


def test_what_loses_a_load() -> None:
    assert lost(answered(), Slo(1.0, 1.0)) == ""
    assert "TTFT" in lost(answered(2.0), Slo(1.0, None))
    refusing = answered()
    assert lost(refusing, Slo()) == ""
    some = [Sent(0, 0, 1, 1, fate="refused") for _ in range(5)]
    assert "refused" in lost(
        figures(Collected([*some, Sent(0, 0, 1, 1, fate="ok")], duration_s=1)), Slo()
    )


def test_what_a_sender_that_did_not_keep_up_loses_is_not_the_engines() -> None:
    slo, lagging = Slo(1.0, None), dict[str, Any](lags_s=[0.2] * 100)
    late = judged(Trial(4.0), answered(2.0, **lagging), slo)
    assert late.lost == ""
    assert "TTFT p99 2 s" in late.unsure
    assert "the sender did not keep up: the event loop was 200 ms late" in late.unsure
    assert judged(Trial(4.0), answered(2.0), slo).unsure == ""
    assert (
        judged(Trial(4.0), answered(0.1, **lagging), slo).lost,
        judged(Trial(4.0), answered(0.1, **lagging), slo).unsure,
    ) == ("", "")
    refused = figures(
        Collected([Sent(0, 0, 1, 1, fate="refused") for _ in range(5)], duration_s=1, **lagging)
    )
    assert "refused" in judged(Trial(4.0), refused, slo).lost


def searched_by(sends_per_s: float, knee_per_s: float, start_per_s: float) -> Knee:
    """A sender that keeps up to so many."""
    search = Bisection(start_per_s)
    while (trial := search.following()) is not None:
        late = dict[str, Any](lags_s=[0.2] * 100) if trial.per_s > sends_per_s else dict[str, Any]()
        search.tell(
            judged(
                trial,
                answered(2.0 if trial.per_s > min(knee_per_s, sends_per_s) else 0.1, **late),
                Slo(1.0, None),
            )
        )
    return search.knee


@pytest.mark.parametrize("start_per_s", [2.0, 10.0, 100.0])
def test_the_search_ends_where_the_sender_does_with_what_held_at_least(start_per_s: float) -> None:
    found = searched_by(10.0, 50.0, start_per_s)
    assert found.lost_per_s is None
    assert found.held_per_s is not None
    assert found.held_per_s <= 10.0 < found.held_per_s * 1.7
    assert found.unsure is not None
    assert found.unsure.per_s > 10.0
    assert len(found.tried) < 10


def test_a_sender_that_fails_between_leaves_the_interval_as_it_is() -> None:
    search = Bisection(4.0)
    for tried in (
        Tried(4.0, "", answered()),
        Tried(6.4, "too much", answered()),
        Tried(5.06, "", answered(), "the sender"),
    ):
        search.tell(tried)
    assert (search.knee.held_per_s, search.knee.lost_per_s, search.following()) == (4.0, 6.4, None)


def test_a_queue_that_grows_is_seen_without_a_service_level() -> None:
    growing = [
        Sent(place / 20, place / 20, 1, 1, ended_s=place / 5 + 0.1, fate="ok")
        for place in range(400)
    ]
    steady = [
        Sent(place / 20, place / 20, 1, 1, ended_s=place / 20 + 0.5, fate="ok")
        for place in range(400)
    ]
    assert falls_behind(figures(Collected(growing, duration_s=80)))
    assert not falls_behind(figures(Collected(steady, duration_s=20.5)))
    assert "behind" in lost(figures(Collected(growing, duration_s=80)), Slo())
