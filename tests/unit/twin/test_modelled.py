"""The step model as the twin's pace."""

from __future__ import annotations

import pytest
from tests.support.built_models import steps

from barostat.kv.step_time.doubt import Doubt
from barostat.kv.step_time.model import StepLoad
from barostat.twin.modelled import ModelledPace


def pace() -> ModelledPace:
    return ModelledPace(
        steps("Qwen/Qwen3-30B-A3B"), Doubt(0.2, ("for a reason",)), "Qwen3-30B-A3B on H100"
    )


def test_a_step_takes_what_the_model_says_however_often_it_is_asked() -> None:
    found = pace()
    for load in ((0, 8, 8000, 0), (0, 8, 9000, 0), (500, 8, 8500, 125_000), (0, 8, 8000, 0)):
        prompts = 1.0 if load[0] else 0.0
        expected = found.model.step_s(StepLoad(load[0], load[1], load[2], load[3], prompts))
        assert found.step_ns(*load) == pytest.approx(expected * 1e9, abs=1)


def test_the_ends_of_the_interval_are_as_far_off_as_they_say() -> None:
    found = pace()
    slow = found.scaled(1 + found.error_ratio)
    assert slow.step_ns(0, 8, 8000) == pytest.approx(1.2 * found.step_ns(0, 8, 8000), rel=1e-6)
    assert slow.front_s == pytest.approx(1.2 * found.front_s)


def test_it_says_where_it_is_from_and_why_it_is_wide() -> None:
    assert "20% either way" in pace().source
    assert "for a reason" in pace().source
    assert "Qwen3-30B-A3B on H100" in pace().source


def test_the_line_along_it_agrees_where_it_is_laid_and_has_no_part_below_zero() -> None:
    found = pace()
    line = found.line()
    assert line.step_ns(0, 16, 16 * 1024) == pytest.approx(
        found.step_ns(0, 16, 16 * 1024), rel=0.01
    )
    assert min(line.base_s, line.prefill_token_s, line.decode_s, line.kv_token_s) >= 0
    assert line.error_ratio == found.error_ratio


def test_an_idle_engine_starts_at_once() -> None:
    assert pace().start_ns(123) == 123
    assert pace().empty_ns == 0
