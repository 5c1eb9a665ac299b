"""From a plan to its engine's steps."""

from __future__ import annotations

import pytest
from tests.support.planned_engines import planned

from barostat.core.errors import InputError
from barostat.judge.sizing.planned_steps import doubt_of_plan, steps_of_plan
from barostat.judge.sizing.planned_twin import pace_of_plan
from barostat.kv.step_time.model import StepLoad

DECODE = StepLoad(decodes=8, cached_tokens=8000)


def step_s(*asked: str) -> float:
    model = steps_of_plan(planned(*asked))
    assert model is not None
    return model.step_s(DECODE)


def test_ranks_and_quantization_of_the_command_line_count() -> None:
    assert step_s("Qwen/Qwen3-32B", "H100", "--tensor-parallel-size", "2") < step_s(
        "Qwen/Qwen3-32B", "H200"
    )
    assert step_s("Qwen/Qwen3-8B", "H100", "--quantization", "fp8") < step_s(
        "Qwen/Qwen3-8B", "H100"
    )


def test_expert_parallelism_is_taken_from_the_flag() -> None:
    model = steps_of_plan(
        planned(
            "Qwen/Qwen3-30B-A3B", "H100", "--tensor-parallel-size", "4", "--enable-expert-parallel"
        )
    )
    assert model is not None
    assert model.work.experts is not None
    assert model.work.experts.held == 32


def test_the_pace_says_model_cards_and_doubt() -> None:
    pace = pace_of_plan(planned("Qwen/Qwen3-32B", "L40S", "--tensor-parallel-size", "4"))
    assert "Qwen3-32B on 4 x L40S" in pace.source
    assert "over PCIe" in pace.source
    assert pace.error_ratio > 0.3


def test_a_card_without_figures_has_no_steps_and_says_what_to_give() -> None:
    made = planned("Qwen/Qwen3-8B", "RTX PRO 5000 Blackwell")
    assert steps_of_plan(made) is None
    assert doubt_of_plan(made) is None
    with pytest.raises(InputError, match="--step-time"):
        pace_of_plan(made)
