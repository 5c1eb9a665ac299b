"""Traffic seen in histograms, and rows like it: lengths, rates, shared beginnings, clients; and
settings as the engine resolved them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barostat.engines.vllm.metrics.quantiles import Histogram
from barostat.io.bundles import bundle
from barostat.judge.observed.engine import ObservedEngine, observed_engine
from barostat.judge.observed.traffic import (
    NotObserved,
    ObservedLengths,
    ObservedTraffic,
    observed_traffic,
)
from barostat.judge.observed.workload import beyond_chance, rows_like
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.workload.random_streams import Dice

BUNDLES = Path(__file__).parents[3] / "data/bundles"
PROMPTS = ObservedLengths(
    Histogram((100.0, 200.0, 500.0, 1000.0, math.inf), (10.0, 30.0, 90.0, 100.0, 100.0)), 290.0
)
OUTPUTS = ObservedLengths(Histogram((50.0, 100.0, math.inf), (60.0, 100.0, 100.0)), 48.0)
TRAFFIC = ObservedTraffic(
    60.0, ((30.0, 2.0), (10.0, 12.0), (20.0, 0.0)), PROMPTS, OUTPUTS, 0.0, (8.0, 12.0)
)


def _seen(name: str) -> ObservedEngine:
    return observed_engine(bundle.read(BUNDLES / name))


def test_lengths_have_the_buckets_and_the_mean_that_were_seen() -> None:
    rows = rows_like(TRAFFIC, 1, 3000.0, 16, 4096)
    assert len(rows) > 5000
    inputs = [row.input_tokens for row in rows]
    assert statistics.fmean(inputs) == pytest.approx(290, rel=0.03)
    assert sum(tokens <= 200 for tokens in inputs) / len(inputs) == pytest.approx(0.3, abs=0.02)
    assert sum(tokens > 500 for tokens in inputs) / len(inputs) == pytest.approx(0.1, abs=0.02)
    assert max(inputs) <= 1000
    assert statistics.fmean(row.output_tokens for row in rows) == pytest.approx(48, rel=0.03)


def test_lengths_that_are_nearly_alike_stay_so() -> None:
    one_bucket = Histogram((200.0, 500.0, math.inf), (0.0, 80.0, 80.0))
    for deviation, allowed in ((0.0, 21.0), (30.0, 42.0), (None, 71.0)):
        lengths = ObservedLengths(one_bucket, 300.0, deviation)
        inputs = [
            row.input_tokens
            for row in rows_like(replace(TRAFFIC, prompts=lengths), 1, 1000.0, 16, 4096)
        ]
        assert statistics.fmean(inputs) == pytest.approx(300, rel=0.03)
        assert statistics.pstdev(inputs) == pytest.approx(allowed, rel=0.1)


@pytest.mark.parametrize(
    ("draw", "most_ratio"),
    [
        (lambda dice: 100 + 600 * dice.uniform(), 0.2),
        (lambda dice: 2000 + 4000 * dice.uniform(), 0.2),
        (lambda dice: dice.exponential(400), 0.1),
    ],
    ids=["even", "even, long", "falling"],
)
def test_lengths_lie_as_far_apart_as_they_did(
    draw: Callable[[Dice], float], most_ratio: float
) -> None:
    """What the engine's buckets leave open is not made wider than it was: the pool holds as many
    requests as their longest allow.
    """
    dice = Dice(1, "lengths")
    lengths = [max(1.0, draw(dice)) for _ in range(20_000)]
    bounds = (
        1.0,
        2.0,
        5.0,
        10.0,
        20.0,
        50.0,
        100.0,
        200.0,
        500.0,
        1000.0,
        2000.0,
        5000.0,
        10_000.0,
        math.inf,
    )
    histogram = Histogram(
        bounds, tuple(float(sum(length <= bound for length in lengths)) for bound in bounds)
    )
    seen = ObservedLengths(histogram, statistics.fmean(lengths))
    rows = rows_like(replace(TRAFFIC, prompts=seen, in_flight=()), 2, 3000.0, 16, 100_000)
    made = [row.input_tokens for row in rows]
    assert statistics.fmean(made) == pytest.approx(statistics.fmean(lengths), rel=0.02)
    assert statistics.pstdev(made) == pytest.approx(statistics.pstdev(lengths), rel=most_ratio)


def test_arrivals_at_random_do_not_come_back_in_denser_crowds() -> None:
    """A steady rate as it is seen in stretches of 5 s, and made again: counts vary as much as they
    did, not twice as much.
    """
    dice = Dice(7, "seen")

    def counts(instants: list[float], seconds: float) -> list[int]:
        found = Counter(int(at // seconds) for at in instants)
        return [found[place] for place in range(int(max(instants) // seconds))]

    instants, at_s = list[float](), 0.0
    while at_s < 600:
        at_s += dice.exponential(1 / 3)
        instants.append(at_s)
    rates = tuple((5.0, count / 5) for count in counts(instants, 5.0))
    rows = rows_like(replace(TRAFFIC, rates=rates, in_flight=()), 2, 3000.0, 16, 4096)
    made = counts([row.arrival_s for row in rows], 5.0)
    assert statistics.pstdev(made) ** 2 / statistics.fmean(made) == pytest.approx(1.0, abs=0.25)
    assert beyond_chance(((30.0, 2.0), (10.0, 12.0)))[1][1] == pytest.approx(
        12.0, rel=0.01
    )  # a burst stays one


def test_arrivals_follow_the_stretches_over_again() -> None:
    rows = rows_like(replace(TRAFFIC, in_flight=()), 2, 6000.0, 16, 4096)
    within = [row.arrival_s % 60 for row in rows]
    assert len(rows) == pytest.approx(TRAFFIC.rate_per_s * 6000, rel=0.03)
    assert sum(at < 30 for at in within) / len(rows) == pytest.approx(60 / 180, abs=0.02)
    assert not [at for at in within if at > 40.001]
    held = rows_like(TRAFFIC, 2, 60.0, 16, 4096)
    assert (
        sum(row.arrival_s == 0 for row in held) == 8
    )  # what the engine held at first is there at once


def test_lengths_stay_when_clients_take_the_place_of_arrivals() -> None:
    opened, closed = (
        rows_like(replace(TRAFFIC, clients=clients, in_flight=()), 3, 600.0, 16, 4096)
        for clients in (None, 5)
    )
    shared = min(len(opened), len(closed))
    assert shared > 500
    assert [(row.input_tokens, row.output_tokens) for row in opened[:shared]] == [
        (row.input_tokens, row.output_tokens) for row in closed[:shared]
    ]
    assert sum(row.after_id is None for row in closed) == 5


@pytest.mark.parametrize("hit_ratio", [0.1, 0.4, 0.7])
def test_the_prefix_cache_spares_what_it_spared(hit_ratio: float) -> None:
    rows = rows_like(replace(TRAFFIC, hit_ratio=hit_ratio), 4, 300.0, 16, 4096)
    outcome = simulate(
        Settings(kv_blocks=20_000, groups=(KvGroup(16),), max_num_seqs=256), rows, LinearPace(0.001)
    )
    assert outcome.cached_tokens / outcome.looked_up_tokens == pytest.approx(hit_ratio, abs=0.05)


def test_rows_that_share_a_prefix_keep_the_limits_of_their_answers() -> None:
    traffic = replace(TRAFFIC, hit_ratio=0.4, to_the_limit=True)
    rows = rows_like(traffic, 4, 60.0, 16, 4096)
    assert any(row.hash_ids for row in rows)
    assert all(row.output_limit == row.output_tokens for row in rows)


def test_the_same_seed_gives_the_same_rows_and_another_others() -> None:
    assert rows_like(TRAFFIC, 5, 60.0, 16, 4096) == rows_like(TRAFFIC, 5, 60.0, 16, 4096)
    assert rows_like(TRAFFIC, 5, 60.0, 16, 4096) != rows_like(TRAFFIC, 6, 60.0, 16, 4096)


def test_no_request_is_longer_than_the_engine_takes() -> None:
    assert max(row.input_tokens for row in rows_like(TRAFFIC, 1, 600.0, 16, 300)) == 299


@pytest.mark.parametrize(
    ("name", "clients"), [("kv-preemption-thrash", 40), ("slot-bound", 24), ("prefill-bound", 16)]
)
def test_a_load_that_stays_while_requests_turn_over_is_clients(name: str, clients: int) -> None:
    seen = _seen(name)
    traffic = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(traffic, ObservedTraffic)
    assert traffic.clients == clients
    assert "--arrivals open" in traffic.came
    assert f"{clients} clients" in traffic.told()


def test_answers_that_end_where_their_requests_say_state_their_lengths_again() -> None:
    """What the clients of the recordings ask for is what they get; of limits far above, nothing is
    known of a request's length.
    """
    seen = _seen("kv-preemption-thrash")
    traffic = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(traffic, ObservedTraffic)
    assert traffic.to_the_limit
    for to_the_limit in (True, False):
        rows = rows_like(replace(traffic, to_the_limit=to_the_limit), 1, 60.0, 128, 4096)
        assert all(
            row.output_limit == (row.output_tokens if to_the_limit else None) for row in rows
        )


def test_a_load_that_wanders_is_not() -> None:
    seen = _seen("host-bound-text")
    traffic = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(traffic, ObservedTraffic)
    assert traffic.clients is None
    assert traffic.rate_per_s > 10


@pytest.mark.parametrize("name", ["healthy-idle", "kv-pool-too-small"])
def test_what_is_missing_is_said_with_its_flag(name: str) -> None:
    seen = _seen(name)
    found = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(found, NotObserved)
    assert "--workload" in found.why


def test_adapters_come_back_as_many_as_were_asked_for() -> None:
    rows = rows_like(replace(TRAFFIC, adapters=3), 1, 60.0, 16, 4096)
    assert {row.adapter for row in rows} == {"adapter-0", "adapter-1", "adapter-2"}
    plain = rows_like(TRAFFIC, 1, 60.0, 16, 4096)
    assert [row._replace(adapter=None) for row in rows] == plain
