"""Runs of data-parallel ranks: who thrashes is named, and what is assumed is said."""

from __future__ import annotations

from barostat.judge.experiments.ranked import ranked_run
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

PACE = LinearPace(0.01, 1e-5, 5e-5, 2e-8)
SETTINGS = Settings(kv_blocks=64, max_model_len=1024, max_num_batched_tokens=512)


def _rows(pinned: bool) -> list[Row]:
    return [
        Row(str(n), n * 0.01, 80, 150, rank=(0 if n % 20 else 1) if pinned else None)
        for n in range(80)
    ]


def test_the_rank_that_thrashes_is_named_and_the_calm_one_is_not() -> None:
    found = ranked_run(SETTINGS, _rows(pinned=True), PACE, 2, Slo(), 0.0)
    assert found.thrashing == (0,)
    assert found.summaries[0].usage_max_ratio > 0.9 > found.summaries[1].usage_max_ratio
    assert found.summary.requests == 80
    assert not found.notes


def test_another_version_is_said_to_be_balanced_as_the_one_that_was_read() -> None:
    found = ranked_run(SETTINGS, _rows(pinned=False), PACE, 2, Slo(), 0.0, version="0.30.0")
    assert found.notes == ("ranks are chosen as vLLM 0.32.0 chooses them, not 0.30.0",)


def test_in_step_it_is_said_how_many_steps_were_dummies() -> None:
    found = ranked_run(SETTINGS, _rows(pinned=True), PACE, 2, Slo(), 0.0, in_step=True)
    assert found.in_step
    assert found.outcome.dummy_steps > 0
    assert "had nothing to compute" in found.notes[0]
