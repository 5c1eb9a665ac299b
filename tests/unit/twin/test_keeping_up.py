"""Whether an engine keeps up."""

from __future__ import annotations

from barostat.twin.intake import Rejection
from barostat.twin.keeping_up import FEWEST, keeping_up
from barostat.twin.outcome import Life, Outcome

S = 10**9


def _outcome(waits_s: list[float], count: int = 100) -> Outcome:
    """Requests a second apart; the waits are spread over them in their order."""
    lives = [
        Life(
            str(at),
            at * S,
            10,
            1,
            at * S,
            round((at + waits_s[at * len(waits_s) // count]) * S),
            round((at + 1) * S),
        )
        for at in range(count)
    ]
    return Outcome(lives=lives, end_ns=count * S)


def test_a_wait_that_stays_keeps_up() -> None:
    assert keeping_up(_outcome([0.5, 0.6, 0.5, 0.7])).answer == "keeps up"


def test_a_wait_that_grows_on_and_on_falls_behind() -> None:
    found = keeping_up(_outcome([1, 3, 9, 20]))
    assert found.answer == "falls behind"
    assert "20 s in the last" in found.because


def test_a_wait_that_grows_ever_more_slowly_falls_behind_too() -> None:
    """As where less comes in the end: an hour of a published trace on a card that serves a seventh
    of it waited 9,421 s, then 18,724 s.
    """
    assert keeping_up(_outcome([0, 9, 15, 17])).answer == "falls behind"


def test_a_queue_that_was_never_worked_off_is_behind_though_it_grows_no_more() -> None:
    outcome = _outcome([0, 60, 60, 60])
    for life in outcome.lives:
        life.admitted_ns = life.first_token_ns
    assert keeping_up(outcome).answer == "falls behind"
    assert keeping_up(_outcome([0, 60, 60, 60])).answer == "keeps up"  # a long prompt, and no queue


def test_a_short_wait_may_double_by_chance() -> None:
    assert keeping_up(_outcome([0.1, 0.1, 0.2, 0.5])).answer == "keeps up"


def test_few_requests_tell_nothing() -> None:
    assert keeping_up(_outcome([1, 3, 9, 20], FEWEST - 1)).answer == "cannot tell"


def test_a_request_turned_away_is_load_that_was_not_carried() -> None:
    outcome = _outcome([0.1])
    outcome.rejections.append(Rejection("x", 1.0, 503, "full"))
    assert "1 of 101 requests" in keeping_up(outcome).because


def test_a_request_that_is_longer_than_the_engine_takes_is_no_matter_of_load() -> None:
    for status in (400, 413):
        outcome = _outcome([0.5, 0.6, 0.5, 0.7])
        outcome.rejections.append(Rejection("x", 1.0, status, "too long"))
        assert keeping_up(outcome).answer == "keeps up"
        outcome.rejections.append(Rejection("y", 1.0, 503, "full"))
        assert "1 of 102 requests" in keeping_up(outcome).because


def test_a_batch_that_comes_at_one_instant_has_no_rate() -> None:
    outcome = _outcome([1, 3, 9, 20])
    for life in outcome.lives:
        life.arrival_ns = 0
    assert keeping_up(outcome).answer == "cannot tell"


def test_stuck_is_behind_for_ever() -> None:
    outcome = _outcome([0.1])
    outcome.stuck = "no token"
    assert keeping_up(outcome).answer == "falls behind"
