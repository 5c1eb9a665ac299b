"""Places for LoRA adapters: per projection, divided as the engine divides them, known or
bounded.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.adapters import NO_ADAPTERS, adapter_places
from barostat.kv.deployment import Adapters, Deployment
from barostat.kv.estimate import Estimate
from barostat.kv.read_architecture import read_architecture


def places(name: str, kept: Adapters | None, release: str = "0.32.0", **changes: Any) -> Estimate:
    known, version = find_model(name), parse_version(release)
    assert known is not None
    assert version is not None
    flags = Deployment(version, 8192, 8192, 256, adapters=kept, **changes)
    return adapter_places(read_architecture(known.config, name), flags)


def test_without_lora_nothing_is_kept() -> None:
    assert places("Qwen/Qwen3-8B", None) == NO_ADAPTERS


def test_each_projection_and_the_embedding_have_places() -> None:
    hidden, inner, vocabulary = 4096, 12288, 151936
    layer = (
        3 * hidden + (4096 + 2 * 1024) + (4096 + hidden) + 2 * hidden + 2 * inner + (inner + hidden)
    )
    found = places("Qwen/Qwen3-8B", Adapters(8, 64, "bfloat16"))
    assert found.is_exact
    assert found.value == 8 * 64 * 2 * (36 * layer + 2 * (vocabulary + hidden))


def test_places_grow_with_number_rank_and_width_of_a_value() -> None:
    one = places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16")).value
    assert places("Qwen/Qwen3-8B", Adapters(4, 16, "bfloat16")).value == 4 * one
    assert places("Qwen/Qwen3-8B", Adapters(1, 64, "bfloat16")).value == 4 * one
    assert places("Qwen/Qwen3-8B", Adapters(1, 16, "float32")).value == 2 * one


def test_whole_halves_are_divided_only_when_fully_sharded() -> None:
    one = places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16")).value
    half = places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16"), tp=4).value
    whole = places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16", fully_sharded=True), tp=4).value
    assert one / 4 < whole < half < one


def test_a_stage_has_its_own_layers_places() -> None:
    one = places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16")).value
    assert places("Qwen/Qwen3-8B", Adapters(1, 16, "bfloat16"), pp=2).value == pytest.approx(
        one / 2
    )


def test_what_is_not_laid_out_has_a_bound() -> None:
    found = places("deepseek-ai/DeepSeek-V2-Lite", Adapters(1, 16, "bfloat16"))
    assert found.low < found.value < found.high
    assert "assumed" in found.source


def test_every_expert_has_places() -> None:
    found = places("Qwen/Qwen3-30B-A3B", Adapters(1, 16, "bfloat16"))
    assert found.low > 48 * 128 * 16 * (3 * 2048 + 3 * 768) * 2 * 0.9
    assert found.value > GIB


def test_experts_have_places_since_0_11_1() -> None:
    old, new = (
        places("Qwen/Qwen3-30B-A3B", Adapters(1, 16, "bfloat16"), release).value
        for release in ("0.11.0", "0.11.1")
    )
    assert old < new / 10
