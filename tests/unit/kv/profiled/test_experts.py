"""What a mixture's experts work in, against the source's shapes and public start-up logs."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.profiled.experts import (
    allocates_anew,
    expert_buffers,
    keeps_buffers,
    quantized_rows,
)
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture


def model(name: str) -> Any:
    found = find_model(name)
    assert found is not None
    return read_architecture(found.config, name)


def flags(version: str, tokens: int = 8192, **changes: Any) -> Deployment:
    found = parse_version(version)
    assert found is not None
    return Deployment(
        version=found, max_model_len=8192, max_num_batched_tokens=tokens, max_num_seqs=16, **changes
    )


@pytest.mark.parametrize(
    ("name", "version", "changes", "widths"),
    [
        ("deepseek-ai/DeepSeek-V2-Lite", "0.19.0", {}, 6 * (2816 + 2048)),
        ("deepseek-ai/DeepSeek-V2-Lite", "0.12.0", {}, 6 * (2816 + 1408)),
        ("Qwen/Qwen3-235B-A22B-FP8", "0.20.0", {"tp": 4}, 8 * (4096 + 4096)),
        ("Qwen/Qwen3-235B-A22B-FP8", "0.20.0", {"tp": 4, "expert_parallel": True}, 8 * (4096 + 4096)),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "0.20.0", {"tp": 2}, 2 * (14336 + 7168)),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "0.20.0", {"tp": 2, "expert_parallel": True}, 2 * (28672 + 14336)),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.26.0", {}, 6 * (2688 + 2688)),
        ("Qwen/Qwen3-8B", "0.20.0", {}, 0),
    ],
)  # fmt: skip
def test_both_buffers_are_as_wide_as_the_kernels_ask_for(
    name: str, version: str, changes: dict[str, Any], widths: int
) -> None:
    assert expert_buffers(model(name), flags(version, **changes)) == 8192 * widths * 2


def test_four_h100_lost_what_a_log_says_to_longer_steps() -> None:
    """Qwen3-235B with experts parallel: 65,536 tokens a step took some 8.7 GiB more than 8,192 did,
    the residual included.
    """
    found, fp8 = model("Qwen/Qwen3-235B-A22B-FP8"), weight_format({}, {}, "fp8", "bfloat16")
    set_ups = [flags("0.20.0", tokens, tp=4, expert_parallel=True) for tokens in (8192, 65536)]
    sizes = [expert_buffers(found, one) + quantized_rows(found, one, fp8) for one in set_ups]
    assert 7.5 < (sizes[1] - sizes[0]) / GIB < 8.7
    assert quantized_rows(found, set_ups[0], weight_format({}, {}, None, "bfloat16")) == 0


def test_a_step_went_through_the_experts_in_chunks_before_0_18() -> None:
    mixtral = model("mistralai/Mixtral-8x7B-Instruct-v0.1")
    assert expert_buffers(mixtral, flags("0.17.0", 65536)) * 2 == expert_buffers(
        mixtral, flags("0.18.0", 65536)
    )


def test_where_the_buffers_stay() -> None:
    kept = {
        version: keeps_buffers(model("Qwen/Qwen3-30B-A3B"), flags(version))
        for version in ("0.13.0", "0.14.0")
    }
    assert kept == {"0.13.0": False, "0.14.0": True}
    assert not keeps_buffers(model("openai/gpt-oss-20b"), flags("0.20.0"))


@pytest.mark.parametrize(
    ("flag", "capability", "anew"),
    [("nvfp4", 12.0, True), ("nvfp4", 12.1, False), ("nvfp4", 9.0, False), ("fp8", 12.0, False)],
)
def test_flashinfers_kernels_hold_nothing(flag: str, capability: float, anew: bool) -> None:
    assert allocates_anew(weight_format({}, {}, flag, "bfloat16"), capability) is anew
