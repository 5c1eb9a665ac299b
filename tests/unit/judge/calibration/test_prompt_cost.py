"""What a prompt costs is read from two histograms where they tell it, and from nothing where they
do not.
"""

from __future__ import annotations

import pytest

from barostat.judge.calibration.prompt_cost import split_by_work
from barostat.judge.evidence.recording import ReplicaRecording, Scrape
from barostat.judge.observed.engine import engine_scrapes
from barostat.twin.linear_pace import StepSample

# 900 steps that only decode for 10 requests, 100 with a prompt of some 400 tokens beside.
TOKENS = {"16": 900, "256": 900, "512": 1000, "+Inf": 1000}
APART = {"0.025": 9000, "0.1": 9000, "0.15": 10_000, "+Inf": 10_000}
TOGETHER = {"0.01": 500, "0.025": 9990, "0.05": 10_000, "+Inf": 10_000}


def _split(
    gaps: dict[str, int], gap_sum_s: float, preempted: int = 0, budget: float | None = 2048.0
) -> tuple[StepSample, ...]:
    label = 'engine="0",model_name="m"'
    texts = []
    for at, share in ((1000.0, 0), (1010.0, 1)):
        lines = [
            f"vllm:num_requests_running{{{label}}} 10",
            f"vllm:num_preemptions_total{{{label}}} {preempted * share}",
        ]
        for family, buckets, total in (
            ("vllm:iteration_tokens_total", TOKENS, 10_000 + 40_000),
            ("vllm:inter_token_latency_seconds", gaps, gap_sum_s),
        ):
            lines += [
                f'{family}_bucket{{{label},le="{bound}"}} {count * share}'
                for bound, count in buckets.items()
            ]
            lines += [
                f"{family}_sum{{{label}}} {total * share}",
                f"{family}_count{{{label}}} {buckets['+Inf'] * share}",
            ]
        texts.append(Scrape(at, "\n".join(lines) + "\n", "fake"))
    engine = engine_scrapes(ReplicaRecording("fake", scrapes=tuple(texts)))
    assert engine is not None
    return split_by_work(engine, 3000.0, budget)


def test_steps_with_prompts_take_the_longer_gaps() -> None:
    short, long = _split(APART, 9000 * 0.02 + 1000 * 0.125)
    assert short.prefill_tokens == 0.0
    assert long.prefill_tokens == pytest.approx(400)
    assert short.duration_s == pytest.approx(0.02)
    assert long.duration_s == pytest.approx(0.125)
    assert short.decodes == long.decodes == pytest.approx(10)


def test_gaps_of_one_bucket_tell_nothing() -> None:
    assert _split(TOGETHER, 10_000 * 0.012) == ()


def test_waits_of_preempted_requests_and_chunks_spoil_it() -> None:
    sum_s = 9000 * 0.02 + 1000 * 0.125
    assert _split(APART, sum_s, preempted=1) == ()
    assert _split(APART, sum_s, budget=128.0) == ()
    assert _split(APART, 1000 * 0.125) == ()  # the sums leave no time for the other steps
