"""Whatever stands in a config.json, reading and planning it raises nothing but InputError."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model, model_names
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.limits_from import limits_from
from barostat.judge.sizing.plan import PlanRequest, plan
from barostat.kv.read_architecture import read_architecture

JUNK: list[Any] = [
    None,
    "",
    "x",
    -1,
    0,
    1,
    3,
    7.5,
    1e18,
    True,
    [],
    [1],
    ["sliding_attention"],
    {},
    {"a": 1},
    [None],
    "full*3",
    float("nan"),
    float("inf"),
]


def spoiled(config: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The configuration with a few fields replaced or removed."""
    made = copy.deepcopy(config)
    for _ in range(dice.randint(1, 3)):
        inner = [value for value in made.values() if isinstance(value, dict) and value]
        target = dice.choice([made, *inner])
        name = dice.choice(list(target))
        if dice.random() < 0.3:
            del target[name]
            if not target:
                return made
        else:
            target[name] = dice.choice(JUNK)
    return made


@pytest.mark.parametrize("name", ["hidden_size", "num_hidden_layers", "vocab_size"])
def test_a_model_without_size_is_refused(name: str) -> None:
    found = find_model("Qwen/Qwen3-8B")
    assert found is not None
    with pytest.raises(InputError, match=f"`{name}` is 0, and no model is without"):
        read_architecture({**found.config, name: 0}, "config.json")


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(3, 10))]
)
def test_spoiled_configs_are_refused_or_planned(seed: int) -> None:
    dice = random.Random(seed)
    version, card = parse_version("0.32.0"), find_card("H100")
    assert version is not None
    settings = resolve(
        args=["vllm", "serve", "m", "--tensor-parallel-size", str(dice.choice((1, 2)))],
        version=version,
        gpu="H100",
    )
    planned = 0
    for name in model_names():
        found = find_model(name)
        assert found is not None
        config = spoiled(found.config, dice)
        try:
            limits_from(
                plan(PlanRequest(read_architecture(config, name), name, version, settings, card)),
                None,
                "0.32.0",
            )
            planned += 1
        except InputError:
            continue
    assert planned > 20


@pytest.mark.parametrize("field", ["head_dim", "hidden_size", "num_hidden_layers", "rope_theta"])
def test_a_number_that_no_float_can_hold_is_refused_or_left(field: str) -> None:
    found = find_model("Qwen/Qwen3-8B")
    assert found is not None
    if field == "rope_theta":
        assert read_architecture({**found.config, field: 10**400}, "config.json").layers
        return
    with pytest.raises(InputError, match=f"`{field}` is 10"):
        read_architecture({**found.config, field: 10**400}, "config.json")
