"""A speculating engine's twin accepts as many drafts as the engine counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.judge.observed.test_settings import window

from barostat.catalog.signals import signal
from barostat.core.window import Window
from barostat.judge.observed.drafting import SPECULATION, seen_acceptance
from barostat.judge.observed.twin_settings import twin_settings

NGRAM = '{"method": "ngram", "num_speculative_tokens": 3}'


def _drafting(config: str = NGRAM, per_step: float | None = 1.2) -> Window:
    found = window(
        {
            "num_gpu_blocks": 2000,
            "block_size": 16,
            "max_model_len": 8192,
            "max_num_seqs": 64,
            "max_num_batched_tokens": 2048,
            "speculative_config": config,
        },
        "0.32.0",
    )
    if per_step is None:
        return found
    counted = signal("accepted_drafts_per_step", [(found.at, per_step)], "test")
    assert counted is not None
    return replace(found, signals={**found.signals, counted.name: counted})


def _left_out(of: Window) -> list[str]:
    found = twin_settings(of)
    assert found is not None
    return [str(one.text) for one in found.assumptions if one.about == SPECULATION]


def test_as_many_drafts_are_accepted_as_the_engine_counts() -> None:
    found = twin_settings(_drafting())
    assert found is not None
    assert found.settings.drafting is not None
    ratio = found.settings.drafting.acceptance_ratio
    assert ratio + ratio**2 + ratio**3 == pytest.approx(1.2)
    assert found.settings.drafting.tokens == 3
    assert _left_out(_drafting()) == []


@pytest.mark.parametrize(("per_step", "ratio"), [(0.0, 0.0), (3.0, 1.0), (3.5, 1.0)])
def test_none_and_all_of_them(per_step: float, ratio: float) -> None:
    assert seen_acceptance(_drafting(per_step=per_step)) == pytest.approx(ratio, abs=1e-6)


def test_where_nothing_was_drafted_speculation_is_left_out_and_said() -> None:
    found = twin_settings(_drafting(per_step=None))
    assert found is not None
    assert found.settings.drafting is None
    assert _left_out(_drafting(per_step=None)) == [
        "speculative decoding is left out: no drafts were counted while looking"
    ]


def test_a_drafter_that_is_not_simulated_is_left_out_and_said() -> None:
    dflash = _drafting('{"method": "dflash", "num_speculative_tokens": 7, "model": "x"}')
    assert "several tokens at once are not simulated" in _left_out(dflash)[0]


def test_an_engine_without_speculation_assumes_nothing_of_it() -> None:
    plain = _drafting("None")
    assert seen_acceptance(plain) is None
    assert _left_out(plain) == []
