"""Made workloads: as many as asked, each quantity from its own stream; the pace's line and its fit."""

from __future__ import annotations

import itertools
import statistics

import pytest

from barostat.core.errors import InputError
from barostat.twin.dice import Dice
from barostat.twin.latency import LinearPace, StepSample, fit, parse_pace
from barostat.twin.request import Row
from barostat.twin.workload import make, parse_spec


def test_streams_are_named_and_repeatable() -> None:
    assert [Dice(1, "a").bits() for _ in range(2)] == [Dice(1, "a").bits()] * 2
    assert Dice(1, "a").bits() != Dice(1, "b").bits()
    assert Dice(1, "a").bits() != Dice(2, "a").bits()


@pytest.mark.parametrize("shape", [0.1, 0.5, 3.0])
def test_a_gamma_has_its_mean_and_variance(shape: float) -> None:
    dice = Dice(3, "gamma")
    thrown = [dice.gamma(shape) for _ in range(20_000)]
    assert statistics.fmean(thrown) == pytest.approx(shape, rel=0.06)
    assert statistics.variance(thrown) == pytest.approx(shape, rel=0.15)


def test_changing_the_rate_does_not_shift_the_lengths() -> None:
    slow, fast = (make(parse_spec(f"poisson:rate={rate},minutes=5"), 7) for rate in (1, 4))
    shared = min(len(slow), len(fast))
    assert shared > 200
    assert [(row.input_tokens, row.output_tokens) for row in slow[:shared]] == [
        (row.input_tokens, row.output_tokens) for row in fast[:shared]
    ]
    assert [row.arrival_s for row in slow[:50]] == pytest.approx([4 * row.arrival_s for row in fast[:50]])


def test_rates_lengths_and_bursts_are_as_asked() -> None:
    rows = make(parse_spec("poisson:rate=10,minutes=30,input=800,output=100"), 1)
    assert len(rows) == pytest.approx(18_000, rel=0.05)
    assert statistics.fmean(row.input_tokens for row in rows) == pytest.approx(800, rel=0.05)
    assert _cv(rows) == pytest.approx(1, abs=0.05)
    assert _cv(make(parse_spec("bursty:rate=10,minutes=30,cv=4"), 1)) == pytest.approx(4, rel=0.15)
    long = make(parse_spec("long-prompts:rate=10,minutes=30,share=0.2,long=20000,spread=0"), 1)
    assert sum(row.input_tokens == 20000 for row in long) / len(long) == pytest.approx(0.2, abs=0.02)


def _cv(rows: list[Row]) -> float:
    gaps = [later.arrival_s - earlier.arrival_s for earlier, later in itertools.pairwise(rows)]
    return statistics.pstdev(gaps) / statistics.fmean(gaps)


def test_a_session_contains_its_former_turns() -> None:
    rows = make(parse_spec("sessions:rate=0.05,minutes=60"), 2)
    by_session: dict[str, list[tuple[int, ...]]] = {}
    for row in rows:
        assert row.hash_ids is not None
        assert row.session_id is not None
        assert len(row.hash_ids) == row.input_tokens // 16
        by_session.setdefault(row.session_id, []).append(row.hash_ids)
    assert max(map(len, by_session.values())) > 3
    for turns in by_session.values():
        for earlier, later in itertools.pairwise(turns):
            assert later[: len(earlier)] == earlier
    assert [row.arrival_s for row in rows] == sorted(row.arrival_s for row in rows)


@pytest.mark.parametrize(
    "text", ["storm", "poisson:pace=3", "poisson:rate=x", "poisson:rate=0", "poisson:rate=1e8", "bursty:cv=0", "poisson:rate"]
)
def test_a_wrong_workload_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--workload"):
        parse_spec(text)


def test_the_line_is_found_again() -> None:
    true = LinearPace(0.01, 2e-5, 1e-4, 3e-8)
    samples = [
        StepSample(p, d, k, true.step_ns(p, d, k) / 1e9, steps)
        for p, d, k, steps in ((0, 10, 10_000, 5), (500, 20, 50_000, 3), (2000, 5, 8_000, 2), (0, 100, 300_000, 9), (100, 60, 20_000, 4))
    ]
    found = fit(samples, "test")
    assert found.base_s == pytest.approx(0.01, rel=1e-3)
    assert found.prefill_token_s == pytest.approx(2e-5, rel=1e-3)
    assert found.kv_token_s == pytest.approx(3e-8, rel=1e-2)
    assert found.error_ratio < 1e-3
    assert found.scaled(2).step_ns(10, 2, 100) == pytest.approx(2 * found.step_ns(10, 2, 100), abs=2)
    off = fit([*samples, StepSample(0, 10, 10_000, 0.02, 5)], "test")
    assert off.error_ratio > 0.05


def test_too_little_to_fit_is_said() -> None:
    with pytest.raises(InputError, match="two stretches"):
        fit([StepSample(1, 1, 1, 0.1)], "test")


@pytest.mark.parametrize("text", ["", "prefill=1", "base=x", "base=-1", "speed=3,base=1"])
def test_a_wrong_line_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--latency"):
        parse_pace(text)
