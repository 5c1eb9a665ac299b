"""What a GPU reads and computes in a step."""

from __future__ import annotations

import pytest
from tests.support.built_models import work

from barostat.kv.quantization import WeightFormat
from barostat.kv.step_time.work import rate_of


def test_a_dense_model_reads_two_bytes_a_parameter_and_ranks_divide_them() -> None:
    one, four = work("Qwen/Qwen3-8B"), work("Qwen/Qwen3-8B", tp=4)
    assert one.weights_bytes == pytest.approx(
        2 * 7.57e9, rel=0.02
    )  # 8.2 B parameters, less the embedding, which is looked up
    assert four.weights_bytes == pytest.approx(one.weights_bytes / 4, rel=0.01)
    assert one.experts is None


def test_the_cache_of_a_token_is_read_by_every_rank_in_its_part() -> None:
    one, four = work("Qwen/Qwen3-8B"), work("Qwen/Qwen3-8B", tp=4)
    assert one.attention.token_bytes == 36 * 2 * 8 * 128 * 2
    assert four.attention.token_bytes == one.attention.token_bytes / 4
    assert (
        work("Qwen/Qwen3-8B", kv_cache_dtype="fp8").attention.token_bytes
        == one.attention.token_bytes / 2
    )


def test_a_latent_is_read_whole_by_every_rank() -> None:
    one, eight = work("deepseek-ai/DeepSeek-V3"), work("deepseek-ai/DeepSeek-V3", tp=8)
    assert one.attention.token_bytes == eight.attention.token_bytes == 61 * 576 * 2
    assert eight.attention.pair_flops == one.attention.pair_flops / 8
    assert one.attention.latent


def test_window_layers_read_their_window_alone() -> None:
    found = work("openai/gpt-oss-120b").attention
    assert found.windows == ((18 * 2 * 8 * 64 * 2, 128),)
    assert found.token_bytes == 18 * 2 * 8 * 64 * 2


def test_experts_are_touched_as_tokens_come_and_never_more_than_there_are() -> None:
    experts = work("Qwen/Qwen3-30B-A3B").experts
    assert experts is not None
    assert experts.touched(0, 1.0) == 0
    assert experts.touched(1, 1.0) == pytest.approx(8, rel=0.1)
    few, even = experts.touched(64, 0.5), experts.touched(64, 1e6)
    assert few < even < 128
    assert experts.touched(1e6, 1.0) == pytest.approx(128, rel=0.01)


def test_expert_parallel_ranks_hold_whole_experts_and_compute_as_much() -> None:
    sliced, whole = (
        work("Qwen/Qwen3-30B-A3B", tp=4).experts,
        work("Qwen/Qwen3-30B-A3B", tp=4, expert_parallel=True).experts,
    )
    assert sliced is not None
    assert whole is not None
    assert (sliced.held, whole.held) == (128, 32)
    assert whole.each.read_bytes == pytest.approx(4 * sliced.each.read_bytes)
    assert whole.routed(10) * whole.each.parameters == pytest.approx(
        sliced.routed(10) * sliced.each.parameters
    )


def test_a_hybrid_reads_a_state_for_each_request() -> None:
    found = work("Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert found.attention.request_bytes > 10e6
    assert found.attention.token_bytes == 12 * 2 * 2 * 256 * 2


@pytest.mark.parametrize(
    ("name", "stored", "capability", "rate"),
    [
        ("not quantised", 2.0, 9.0, "16-bit"),
        ("fp8", 1.0, 9.0, "8-bit"),
        ("fp8", 1.0, 8.0, "16-bit"),
        ("nvfp4", 0.5625, 10.0, "4-bit"),
        ("nvfp4", 0.5625, 9.0, "16-bit"),
        ("mxfp4", 0.53125, 9.0, "16-bit"),
        ("mxfp4", 0.53125, 10.0, "8-bit"),
        ("4-bit, groups of 128", 0.52, 10.0, "16-bit"),
    ],
)
def test_products_run_in_the_arithmetic_that_the_card_has_for_their_format(
    name: str, stored: float, capability: float, rate: str
) -> None:
    assert rate_of(WeightFormat(name, 2, stored), "mlp", capability) == rate
