"""What is known of a deployment whose version changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planned_engines import planned
from tests.unit.judge.upgrade.test_upgrade import deployed

from barostat.catalog.known_regressions import Trait
from barostat.core.config import ConfigValue, EngineConfig


@pytest.mark.parametrize(
    ("model", "traits"),
    [
        ("Qwen/Qwen3-8B", {"16-bit"}),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", {"16-bit", "experts"}),
        ("google/gemma-3-27b-it", {"16-bit", "window"}),
    ],
)
def test_a_model_is_made_of_what_its_configuration_says(model: str, traits: set[Trait]) -> None:
    one = replace(deployed("0.19.0"), before=planned(model, "H200", "--tp", "2"))
    assert one.traits() == frozenset(traits)


def test_weights_that_are_quantized_are_told_by_their_format() -> None:
    config = EngineConfig({"quantization": ConfigValue("fp8", "flag", "--quantization fp8")})
    plan = planned("Qwen/Qwen3-8B", "H200", "--quantization", "fp8")
    assert replace(deployed("0.19.0"), config=config, before=plan).traits() == frozenset(("8-bit",))


def test_of_an_unknown_model_nothing_is_said() -> None:
    assert deployed("0.19.0").traits() is None
    assert deployed("0.19.0").model is None


def test_what_a_person_set_and_how_many_gpus_that_takes() -> None:
    one = deployed("0.19.0", tensor_parallel_size=4, pipeline_parallel_size=2)
    assert one.gpus == 8
    assert one.is_chosen("tensor_parallel_size")
    assert not one.is_chosen("max_num_seqs")
