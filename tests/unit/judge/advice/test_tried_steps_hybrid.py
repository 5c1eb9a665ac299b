"""Steps for a hybrid (gpt-oss-20b) are tried on its own pool: full attention and a window."""

from __future__ import annotations

from functools import cache

import pytest
from tests.support.watched_engine import Load, Watched

from barostat.core.proposed_change import SetEdgeLimit
from barostat.core.prose import Prose
from barostat.judge.advice.tried_steps import advised, bench_of
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.evidence.recording import Recording
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings, for_version

BLOCKS, POOL_TOKENS = 2000, 25_421
HYBRID = for_version(
    Settings(
        BLOCKS, (KvGroup(16), KvGroup(16, 128)), max_model_len=16_384, max_num_seqs=256, max_num_batched_tokens=2048,
        async_scheduling=True,
    ),
    "0.32.0",
)  # fmt: skip


@cache
def thrashing(*, long: bool) -> tuple[Recording, Watched]:
    """One card whose answers outgrow the pool."""
    pace = LinearPace(0.02, 4e-5, 2e-4, 1e-8)
    load = Load((300, 500), (500, 900), clients=40)
    watched = Watched(HYBRID, pace, load, model="openai/gpt-oss-20b", pool_tokens=POOL_TOKENS)
    return watched.recording(60, 120 if long else 80), watched


def test_the_twin_has_the_engine_s_groups_and_blocks() -> None:
    recording, _ = thrashing(long=False)
    (window,) = examine(recording).shown.values()
    bench = bench_of(recording, recording.replicas[0], window, "")
    assert not isinstance(bench, Prose)
    assert set(bench.today.settings.groups) == set(HYBRID.groups)
    assert bench.today.settings.kv_blocks == BLOCKS
    assert bench.assumptions == ()


@pytest.mark.sweep
def test_today_s_forecast_is_what_the_engine_really_does() -> None:
    recording, watched = thrashing(long=True)
    (replica,) = advised(recording).report.replicas
    assert replica.trials is not None
    today, truth = replica.trials.today, watched.truth
    assert today is not None
    assert today.output_tokens_per_s == pytest.approx(truth.output_tokens / 60, rel=0.05)
    assert today.preempted_per_s == pytest.approx(truth.preemptions / 60, rel=0.25)
    budgets = [
        step
        for step in replica.next
        if isinstance(step.change, SetEdgeLimit) and step.change.limit == "edge.kvTokenBudget"
    ]
    assert budgets
    assert all("one kind of attention" in str(step.untried) for step in budgets)
