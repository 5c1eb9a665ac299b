"""What vLLM would not start with is known before a pod is made for it."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.change import ConfigChange
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.mitigation.start_refused import would_not_start


def said(name: str, value: str, cards: int, **settings: Any) -> str:
    config = EngineConfig(
        {key: ConfigValue(found, "log", "its log") for key, found in settings.items()}
    )
    window = Window("r", 0.0, {}, config, parse_version("0.32.0"), "")
    limits = {"limits": {"nvidia.com/gpu": str(cards)}} if cards else {}
    return would_not_start(
        ConfigChange("argument", name, None, value),
        window,
        {"spec": {"containers": [{"name": "vllm", "resources": limits}]}},
    )


@pytest.mark.parametrize(
    ("name", "value", "cards", "settings", "told"),
    [
        ("--tensor-parallel-size", "2", 1, {}, "vLLM needs 2 cards for it, and a pod has 1"),
        (
            "--tensor-parallel-size",
            "4",
            4,
            {"pipeline_parallel_size": 2},
            "vLLM needs 8 cards for it, and a pod has 4",
        ),
        (
            "--pipeline-parallel-size",
            "2",
            4,
            {"tensor_parallel_size": 4},
            "vLLM needs 8 cards for it, and a pod has 4",
        ),
        (
            "--max-num-seqs",
            "512",
            1,
            {"max_num_batched_tokens": 256},
            "--max-num-batched-tokens (256) is below --max-num-seqs (512)",
        ),
    ],
)
def test_it_is_told_why(
    name: str, value: str, cards: int, settings: dict[str, Any], told: str
) -> None:
    assert told in said(name, value, cards, **settings)


@pytest.mark.parametrize(
    ("value", "cards", "settings"),
    [
        ("2", 2, {}),
        ("1", 8, {"pipeline_parallel_size": 8}),
        ("2", 0, {}),
        ("16", 8, {"distributed_executor_backend": "ray"}),
        ("16", 8, {"nnodes": 2}),
    ],
)
def test_enough_cards_no_cards_of_its_own_and_several_nodes_are_no_reason(
    value: str, cards: int, settings: dict[str, Any]
) -> None:
    assert said("--tensor-parallel-size", value, cards, **settings) == ""
