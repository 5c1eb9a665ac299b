"""A step is a roofline of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.built_models import steps

from barostat.kv.step_time.model import StepLoad, StepTimeModel

DECODE = StepLoad(decodes=8, cached_tokens=8000)


def test_a_lone_decode_takes_at_least_what_reading_the_weights_does() -> None:
    model = steps("Qwen/Qwen3-8B")
    found = model.step_s(StepLoad(decodes=1, cached_tokens=100))
    assert (
        model.work.weights_bytes / model.card.bandwidth_bytes_per_s
        < found
        < 2.5 * model.work.weights_bytes / model.card.bandwidth_bytes_per_s
    )


def test_more_of_anything_takes_longer() -> None:
    model = steps("Qwen/Qwen3-30B-A3B")
    base = model.step_s(DECODE)
    for more in (
        {"decodes": 9.0},
        {"cached_tokens": 9000.0},
        {"prompt_tokens": 100.0},
        {"pairs": 1e6},
        {"prompts": 1.0},
    ):
        assert model.step_s(replace(DECODE, **more)) > base, more


def test_a_long_prompt_is_bound_by_arithmetic() -> None:
    model = steps("Qwen/Qwen3-8B")
    one, two = (
        model.parts(StepLoad(prompt_tokens=tokens, prompts=1)).weights_s for tokens in (4096, 8192)
    )
    assert two == pytest.approx(2 * one, rel=0.1)
    flops = 2 * sum(product.parameters for product in model.work.products) * 8192
    assert flops / model.card.flops_16bit < two < 2 * flops / model.card.flops_16bit


def test_ranks_halve_the_weights_and_pay_for_their_exchange() -> None:
    one, two = steps("Qwen/Qwen3-32B").parts(DECODE), steps("Qwen/Qwen3-32B", tp=2).parts(DECODE)
    assert two.weights_s == pytest.approx(one.weights_s / 2, rel=0.05)
    assert one.collectives_s == 0 < two.collectives_s


def test_an_exchange_over_pcie_is_dearer() -> None:
    prompt = StepLoad(prompt_tokens=4096, prompts=1)
    fast, slow = (
        steps("Qwen/Qwen3-8B", "A100-SXM4-80GB", tp=4),
        steps("Qwen/Qwen3-8B", "L40S", tp=4),
    )
    assert slow.parts(prompt).collectives_s > 5 * fast.parts(prompt).collectives_s


def test_parts_without_attention_are_the_rest() -> None:
    model, load = steps("openai/gpt-oss-120b"), StepLoad(500, 8, 8000, 125_000, 1)
    assert model.rest_s(load) + model.parts(load).attention_s == pytest.approx(model.step_s(load))


def test_what_is_not_in_the_step_costs_nothing() -> None:
    assert steps("Qwen/Qwen3-8B").parts(StepLoad(decodes=4, cached_tokens=400)).experts_s == 0


def test_products_of_more_than_a_tile_take_whole_tiles_on_cards_that_have_them() -> None:
    smooth = steps("Qwen/Qwen3-8B")
    tiled = replace(smooth, card=replace(smooth.card, tile_rows=128))

    def weights_s(model: StepTimeModel, tokens: float) -> float:
        return model.parts(StepLoad(prompt_tokens=tokens, prompts=1)).weights_s

    assert weights_s(tiled, 513) == weights_s(tiled, 640) == pytest.approx(weights_s(smooth, 640))
    assert weights_s(tiled, 512) == weights_s(smooth, 512) < weights_s(smooth, 513)
    assert weights_s(tiled, 100) == weights_s(smooth, 100)
