"""Made workloads: as many as asked, each quantity from its own stream; the pace's line and its
fit.
"""

from __future__ import annotations

import itertools
import re
import statistics

import pytest

from barostat.core.errors import InputError
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace, StepSample, fit, parse_pace
from barostat.twin.pace import attended
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, summarise
from barostat.twin.workload.made import in_turn, make, parse_spec
from barostat.twin.workload.random_streams import Dice


def test_streams_are_named_and_repeatable() -> None:
    assert [Dice(1, "a").bits() for _ in range(2)] == [Dice(1, "a").bits()] * 2
    assert Dice(1, "a").bits() != Dice(1, "b").bits()
    assert Dice(1, "a").bits() != Dice(2, "a").bits()


def test_many_throws_are_the_throws_one_by_one() -> None:
    many, single = Dice(5, "lengths"), Dice(5, "lengths")
    means = [float(mean) for mean in range(1, 400)]
    for count in (0, 1, 100, 101, 1024, 1025, 5000):
        assert many.uniforms(count) == [single.uniform() for _ in range(count)]
    assert many.lognormals(means, 0.6) == [single.lognormal(mean, 0.6) for mean in means]
    assert many.lognormals(means, 0.0) == means
    assert many.bits() == single.bits()


@pytest.mark.parametrize(
    "text",
    [
        "poisson:rate=9",
        "bursty:rate=9,cv=3",
        "long-prompts:rate=9,share=0.3",
        "poisson:rate=9,spread=0",
    ],
)
def test_rows_are_thrown_one_quantity_after_the_other(text: str) -> None:
    """What a seed has made once it makes for ever: each quantity from its own stream, a throw per
    request.
    """
    spec = parse_spec(text)
    arrivals, inputs, outputs, which = (
        Dice(11, name) for name in ("arrivals", "input", "output", "long")
    )
    at_s = 0.0
    for row in make(spec, 11):
        at_s += (
            arrivals.exponential(1.0) if spec.cv == 1 else arrivals.gamma(spec.cv**-2) / spec.cv**-2
        ) / 9
        mean = 8000.0 if which.uniform() < spec.share_ratio else 1000.0
        lengths = [
            max(1, round(dice.lognormal(of, spec.spread)))
            for dice, of in ((inputs, mean), (outputs, 200.0))
        ]
        assert [row.input_tokens, row.output_tokens] == lengths
        assert row.arrival_s == pytest.approx(at_s, rel=1e-12)
    assert 600 - row.arrival_s < 3


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
    assert [row.arrival_s for row in slow[:50]] == pytest.approx(
        [4 * row.arrival_s for row in fast[:50]]
    )


def test_rates_lengths_and_bursts_are_as_asked() -> None:
    rows = make(parse_spec("poisson:rate=10,minutes=30,input=800,output=100"), 1)
    assert len(rows) == pytest.approx(18_000, rel=0.05)
    assert statistics.fmean(row.input_tokens for row in rows) == pytest.approx(800, rel=0.05)
    assert _cv(rows) == pytest.approx(1, abs=0.05)
    assert _cv(make(parse_spec("bursty:rate=10,minutes=30,cv=4"), 1)) == pytest.approx(4, rel=0.15)
    long = make(parse_spec("long-prompts:rate=10,minutes=30,share=0.2,long=20000,spread=0"), 1)
    assert sum(row.input_tokens == 20000 for row in long) / len(long) == pytest.approx(
        0.2, abs=0.02
    )


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


def test_clients_have_one_request_at_a_time() -> None:
    rows = make(parse_spec("closed:clients=8,requests=200,think=0.5,input=50,output=20"), 3)
    outcome = simulate(Settings(kv_blocks=4000, max_num_seqs=64), rows, LinearPace(0.01))
    assert len(rows) == len(outcome.lives) == 200
    running = sorted(
        [(life.arrival_ns, 1) for life in outcome.lives]
        + [(life.finished_ns or 0, -1) for life in outcome.lives]
    )
    assert max(itertools.accumulate(change for _, change in running)) == 8
    pauses = make(parse_spec("closed:clients=8,requests=200,think=5,input=50,output=20"), 3)
    assert [(row.input_tokens, row.output_tokens) for row in pauses] == [
        (row.input_tokens, row.output_tokens) for row in rows
    ]


def test_a_client_that_is_refused_comes_back_a_second_later() -> None:
    settings = Settings(kv_blocks=400, max_num_seqs=4, max_queued_requests=1)
    outcome = simulate(
        settings, in_turn([(10, 500), (10, 5), (10, 5), (10, 5)], 2, [0.0] * 4), LinearPace(0.01)
    )
    assert [one.at_s for one in outcome.rejections] == [0.0, 1.0]
    assert (
        len(outcome.lives) == 2
    )  # the second client's are both refused, the first one's both answered


@pytest.mark.parametrize(
    "text",
    [
        "storm",
        "closed:clients=0",
        "closed:requests=1e8",
        "poisson:pace=3",
        "poisson:rate=x",
        "poisson:rate=0",
        "poisson:rate=1e8",
        "bursty:cv=0",
        "poisson:rate",
    ],
)
def test_a_wrong_workload_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--workload"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bursty:cv=21", "cv must be 0.01 to 20"),
        ("bursty:cv=1e-9", "not 1e-09"),
        (
            "poisson:minutes=1,clients=50",
            (
                "'clients=50' is not known; poisson has rate, minutes, input, output, spread, "
                "adapters, each with =NUMBER"
            ),
        ),
        ("poisson:cv=4", "'cv=4' is not known"),
        (
            "closed:rate=3",
            "closed has clients, requests, think, input, output, spread, adapters, each",
        ),
        (
            "sessions:share=0.1",
            "sessions has rate, minutes, input, output, spread, adapters, turns, think, system, each",
        ),
        ("long-prompts:share=5", "share must be 0 to 1"),
        ("long-prompts:long=0", "long must be at least 1"),
        ("closed:clients=1.5", "clients must be a whole number, not 1.5"),
        ("closed:requests=10.5", "requests must be a whole number, not 10.5"),
        ("poisson:rate=nan", "rate must be at least 0"),
        ("poisson:rate=2,rate=3", "rate is there twice; keep one"),
        ("poisson:spread=3.1", "spread must be 0 to 3"),
        ("sessions:turns=0", "turns must be at least 1"),
        ("sessions:system=9e8", "make sessions fewer or shorter"),
        ("poisson:rate=2e4", "some 12,000,000 requests; 5,000,000 at most"),
    ],
)
def test_what_is_no_traffic_is_said_with_what_is(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        parse_spec(text)


@pytest.mark.parametrize(
    "text", ["bursty:cv=20,minutes=60", "bursty:cv=0.01", "poisson:spread=3,minutes=60"]
)
def test_the_ends_of_what_is_traffic_can_be_made(text: str) -> None:
    rows = make(parse_spec(text), 4)
    assert len(rows) > 100
    assert max(row.input_tokens for row in rows) < 10_000_000


def test_the_line_is_found_again() -> None:
    true = LinearPace(0.01, 2e-5, 1e-4, 3e-8)
    samples = [
        StepSample(p, d, k, true.step_ns(p, d, k) / 1e9, steps)
        for p, d, k, steps in (
            (0, 10, 10_000, 5),
            (500, 20, 50_000, 3),
            (2000, 5, 8_000, 2),
            (0, 100, 300_000, 9),
            (100, 60, 20_000, 4),
        )
    ]
    found = fit(samples, "test")
    assert found.base_s == pytest.approx(0.01, rel=1e-3)
    assert found.prefill_token_s == pytest.approx(2e-5, rel=1e-3)
    assert found.kv_token_s == pytest.approx(3e-8, rel=1e-2)
    assert found.error_ratio < 1e-3
    assert found.scaled(2).step_ns(10, 2, 100) == pytest.approx(
        2 * found.step_ns(10, 2, 100), abs=2
    )
    off = fit([*samples, StepSample(0, 10, 10_000, 0.02, 5)], "test")
    assert off.error_ratio > 0.05


def test_the_end_of_a_long_prompt_is_dearer_than_its_begin() -> None:
    true = LinearPace(0.01, 2e-4, 1e-4, 3e-8, pair_s=2e-7)
    loads = [(tokens, 5, tokens + 900, tokens * tokens // 2) for tokens in (0, 100, 400, 900, 1600)]
    loads += [(0, decodes, decodes * 300, 0) for decodes in (1, 8, 20)] + [(0, 4, 9000, 0)]
    found = fit(
        [
            StepSample(p, d, k, true.step_ns(p, d, k, pairs) / 1e9, pairs=pairs)
            for p, d, k, pairs in loads
        ],
        "test",
    )
    assert found.pair_s == pytest.approx(2e-7, rel=0.02)
    assert found.prefill_token_s == pytest.approx(2e-4, rel=0.02)
    first, last = (
        found.step_ns(400, 0, reached, attended(400, reached)) for reached in (400, 1600)
    )
    assert last - first == pytest.approx((1200 * 3e-8 + 400 * 1200 * 2e-7) * 1e9, rel=0.05)


def test_pairs_are_counted_token_by_token() -> None:
    for tokens, reached in ((1, 1), (5, 5), (3, 10), (7, 20)):
        assert attended(tokens, reached) == sum(range(reached - tokens + 1, reached + 1))


def test_what_is_waited_at_the_front_is_in_latencies_and_decides_nothing() -> None:
    settings = Settings(kv_blocks=65)
    rows = [Row(str(index), 0.05 * index, 40, 10) for index in range(6)]
    pace = parse_pace("base=0.01,prefill=1e-4,front=0.004")
    outcome = simulate(settings, rows, pace)
    bare, fronted = (
        summarise(outcome, settings.usable_blocks, Slo(ttft_s=0.016), front_s=front)
        for front in (0.0, pace.front_s)
    )
    assert bare.ttft.p50 is not None
    assert fronted.ttft.p50 == pytest.approx(bare.ttft.p50 + 0.004)
    assert bare.e2e.p99 is not None
    assert fronted.e2e.p99 == pytest.approx(bare.e2e.p99 + 0.004)
    assert fronted.itl == bare.itl
    assert fronted.queue == bare.queue
    assert fronted.good < bare.good


def test_too_little_to_fit_is_said() -> None:
    with pytest.raises(InputError, match="two stretches"):
        fit([StepSample(1, 1, 1, 0.1)], "test")


@pytest.mark.parametrize(
    "text", ["", "prefill=1", "base=x", "base=-1", "speed=3,base=1", "base=0.01,base=0.02"]
)
def test_a_wrong_line_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--latency"):
        parse_pace(text)
