"""Weight formats: what a list of modules left alone says, and what it does not."""

from __future__ import annotations

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import weight_bytes


def plain_parts(*ignored: str) -> frozenset[str]:
    return weight_format(
        {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": list(ignored)}},
        {},
        None,
        "bfloat16",
    ).plain


@pytest.mark.parametrize("small", [
    "model.layers.*.self_attn.kv_a_layernorm", "model.layers.*.self_attn.indexer.k_norm", "model.layers.*.self_attn.indexers_proj",
    "model.layers.*.mlp.shared_expert_gate", "model.layers.*.linear_attn.conv1d", "model.layers.*.linear_attn.in_proj_ba",
])  # fmt: skip
def test_a_norm_or_a_gate_that_is_left_alone_leaves_its_layer_quantised(small: str) -> None:
    assert plain_parts("lm_head", small) == {"head", "tower"}


@pytest.mark.parametrize(("large", "part"), [
    ("model.layers.*.self_attn", "attention"), ("model.layers.*.linear_attn", "state"),
    ("model.layers.*.mlp.shared_expert", "shared experts"),
])  # fmt: skip
def test_a_kind_that_is_left_alone_is_plain(large: str, part: str) -> None:
    assert part in plain_parts(large)


@pytest.mark.parametrize(
    ("name", "tp", "gib"),
    [("zai-org/GLM-5.1-FP8", 8, 89.34), ("Qwen/Qwen3-235B-A22B-FP8", 4, 55.19)],
)
def test_fp8_checkpoints_weigh_what_the_log_says(name: str, tp: int, gib: float) -> None:
    listed = find_model(name)
    assert listed is not None
    model = read_architecture(listed.config, name)
    form = weight_format(model.config, model.text, None, "bfloat16", name)
    assert weight_bytes(model, form, tp, 1).largest / GIB == pytest.approx(gib, rel=0.005)
