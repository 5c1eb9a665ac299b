"""A checkpoint that is not in the catalogue is read by its sibling with weights of another
format.
"""

from __future__ import annotations

import pytest

from barostat.catalog.drafters import published_drafter
from barostat.catalog.models import base_name, find_model


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Qwen/Qwen3.6-27B", "nvidia/Qwen3.6-27B-NVFP4"),
        ("RedHatAI/Qwen3-32B-FP8-dynamic", "Qwen/Qwen3-32B"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", "meta-llama/Llama-3.1-70B-Instruct"),
        ("Qwen/Qwen3.8-27B-FP8", "nvidia/Qwen3.6-27B-NVFP4"),
    ],
)
def test_the_shape_is_the_siblings_and_the_format_is_not(name: str, shape: str) -> None:
    found, sibling = find_model(name), find_model(shape)
    assert found is not None
    assert sibling is not None
    assert found.name == name
    assert "shape of" in found.source
    assert "quantization_config" not in found.config
    assert found.config["architectures"] == sibling.config["architectures"]


def test_another_size_is_no_sibling() -> None:
    assert find_model("Qwen/Qwen3-33B-FP8") is None
    assert find_model("-FP8") is None
    assert base_name("org/Model-7B (AutoRound int4)") == "model-7b"


def test_a_drafter_belongs_to_its_target_and_method() -> None:
    found = published_drafter("someone/Qwen3.6-27B-int4", "dflash")
    assert found is not None
    assert found.name == "z-lab/Qwen3.6-27B-DFlash"
    assert published_drafter("Qwen/Qwen3.6-27B", "eagle3") is None
    assert published_drafter("Qwen/Qwen3-8B", "dflash") is None
