"""Clients are told from arrivals by what came and what ended, not by a load that stays; where
neither tells, that is said.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from tests.support.watched_engine import Load, Watched

from barostat.judge.observed.arrivals import Arrivals, Stretch, arrivals_of
from barostat.judge.observed.engine import observed_engine
from barostat.judge.observed.traffic import ObservedTraffic, observed_traffic
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.workload.random_streams import Dice


def _at_random(dice: Dice, mean: float) -> int:
    """A Poisson number."""
    left, found = dice.exponential(1.0), 0
    while left < mean:
        left += dice.exponential(1.0)
        found += 1
    return found


def _window(
    dice: Dice,
    *,
    held: float,
    per_stretch: float,
    count: int = 6,
    ends_vary: bool = True,
    queue: bool = True,
) -> list[Stretch]:
    """Arrivals at random, ends that do not know of them."""
    found = []
    for _ in range(count):
        came = _at_random(dice, per_stretch)
        ended = _at_random(dice, per_stretch / 2) + per_stretch / 2 if ends_vary else per_stretch
        found.append(Stretch(came, held, held + came - ended, 50.0 if queue else 0.0))
        held += came - ended
    return found


@pytest.mark.parametrize("ends_vary", [True, False])
@pytest.mark.parametrize(
    ("held", "per_stretch"), [(119.0, 10.0), (119.0, 30.0), (40.0, 8.0), (20.0, 5.0)]
)
def test_a_steady_open_queue_is_no_clients(
    held: float, per_stretch: float, ends_vary: bool
) -> None:
    """Of windows of half a minute about one in twenty looks as steady as clients make it, arrivals
    being at random.
    """
    dice = Dice(1, f"{held}/{per_stretch}")
    found = [
        arrivals_of(_window(dice, held=held, per_stretch=per_stretch, ends_vary=ends_vary))
        for _ in range(400)
    ]
    assert sum(one.clients is not None for one in found) <= 0.08 * len(found)
    assert not any(one.told for one in found if one.clients is None)


def test_a_load_that_stays_within_a_twelfth_may_be_open() -> None:
    """What was taken for 119 clients once: 119 requests, give or take 4, of which 2 a second come
    and go.
    """
    held = [119.0, 116.0, 121.0, 117.0, 122.0, 118.0, 120.0]
    stretches = [Stretch(10.0, before, after, 90.0) for before, after in pairwise(held)]
    assert arrivals_of(stretches) == Arrivals()


def test_behind_a_queue_that_stays_wait_clients() -> None:
    held = [40.0, 40.0, 39.0, 40.0, 40.0, 39.0, 40.0]
    found = arrivals_of([Stretch(8.0, before, after, 27.0) for before, after in pairwise(held)])
    assert found.clients == 40
    assert "--arrivals open if they do not" in found.told


def test_arrivals_that_follow_the_ends_are_clients_without_a_queue() -> None:
    ends = [12.0, 31.0, 8.0, 24.0, 17.0, 40.0]
    assert arrivals_of([Stretch(came, 30.0, 30.0, 0.0) for came in ends]).clients == 30


def test_an_even_load_without_a_queue_is_arrivals_and_what_it_may_be_is_said() -> None:
    found = arrivals_of([Stretch(36.0, 40.0, 40.0 + turn % 2, 0.0) for turn in range(6)])
    assert found.clients is None
    assert "clients that wait for their answers, or arrivals at an even distance" in found.told
    assert "--clients 41" in found.told


@pytest.mark.parametrize(
    "stretches",
    [
        [],
        [Stretch(9.0, 40.0, 40.0, 9.0)] * 2,
        [Stretch(0.5, 40.0, 40.0, 9.0)] * 6,
        [Stretch(9.0, 2.0, 2.0, 1.0)] * 6,
    ],
)
def test_too_little_tells_nothing(stretches: list[Stretch]) -> None:
    """Two stretches, a load that does not turn over, one or two requests."""
    assert arrivals_of(stretches) == Arrivals()


def test_what_is_least_at_random_is_a_quantile() -> None:
    """Against chi squared from tables: 5 % are below 0.711 for 4 degrees of freedom, below 3.940
    for 10.
    """
    for count, quantile in ((4, 0.711), (10, 3.940)):
        held = 1000.0
        just_below, just_above = (
            [
                Stretch(400.0, held, held + math.sqrt(share * quantile * 400.0 / count), 9.0)
                for _ in range(count)
            ]
            for share in (0.9, 1.1)
        )
        assert arrivals_of(just_below).clients is not None
        assert arrivals_of(just_above).clients is None


SMALL = Settings(kv_blocks=301, groups=(KvGroup(16),), max_model_len=2048, max_num_seqs=32)
PACE = LinearPace(0.010, 4e-5, 6e-5, 1.5e-8)


@pytest.mark.parametrize(
    ("load", "clients"),
    [
        pytest.param(Load((100, 400), (50, 200), clients=40), 40, marks=pytest.mark.sweep),
        (Load((100, 400), (50, 200), clients=12), 12),
        pytest.param(Load((100, 400), (50, 200), rate=7.0), None, marks=pytest.mark.sweep),
        (Load((100, 400), (50, 200), rate=4.0), None),
        pytest.param(
            Load((100, 400), (50, 200), rate=4.0, evenly=True), None, marks=pytest.mark.sweep
        ),
    ],
)
def test_the_twins_own_clients_are_found(load: Load, clients: int | None) -> None:
    seen = observed_engine(Watched(SMALL, PACE, load).recording(20.0, 50.0))
    traffic = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(traffic, ObservedTraffic)
    assert traffic.clients == clients
