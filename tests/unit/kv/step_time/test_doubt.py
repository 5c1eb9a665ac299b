"""How far a predicted step may be off."""

from __future__ import annotations

import pytest
from tests.support.built_models import architecture, card, flags, steps

from barostat.catalog.step_speeds import FITTED
from barostat.kv.step_time.card_speeds import FITTED_SPEEDS, card_speeds
from barostat.kv.step_time.closed_loop import Clients, closed_loop
from barostat.kv.step_time.doubt import LEFT_OUT_RATIO, doubt_of
from barostat.kv.step_time.model import StepLoad


def test_what_was_measured_is_as_sure_as_what_was_left_out() -> None:
    found = doubt_of(architecture("Qwen/Qwen3-8B"), flags(), card("H100"), fast_link=True)
    assert (found.ratio, found.because) == (LEFT_OUT_RATIO, ())


def test_doubt_grows_with_each_way_of_being_unlike_the_points() -> None:
    dense, hybrid = architecture("Qwen/Qwen3-8B"), architecture("Qwen/Qwen3-Next-80B-A3B-Instruct")
    ratios = [
        doubt_of(model, flags(tp), card(name), fast_link=fast).ratio
        for model, tp, name, fast in (
            (dense, 1, "H100", True), (dense, 1, "B300", True), (dense, 1, "A100", True), (dense, 1, "MI300X", True),
            (hybrid, 1, "MI300X", True), (hybrid, 4, "MI300X", False),
        )
    ]  # fmt: skip
    assert ratios == sorted(set(ratios))
    assert ratios[-1] > 0.5


def test_a_load_beyond_the_points_says_so() -> None:
    known = doubt_of(architecture("Qwen/Qwen3-8B"), flags(), card("H100"), fast_link=True)
    assert known.at(StepLoad(decodes=64, cached_tokens=64 * 4000)) == known
    far = known.at(StepLoad(decodes=4, cached_tokens=4 * 100_000))
    assert far.ratio > known.ratio
    assert "100,000 tokens of context" in far.because[0]


def test_cards_without_figures_have_no_speeds() -> None:
    assert card_speeds(card("RTX PRO 5000 Blackwell")) is None


@pytest.mark.parametrize(
    ("name", "fast", "flops"),
    [("T4", False, 65e12), ("H100", True, 989e12), ("B200", True, 2250e12)],
)
def test_cards_have_their_data_sheets_figures(name: str, fast: bool, flops: float) -> None:
    found = card_speeds(card(name))
    assert found is not None
    assert (found.fast_link, found.flops_16bit) == (fast, flops)
    assert found.flops_16bit <= found.flops_8bit <= found.flops_4bit


def test_fitted_speeds_are_what_they_are_called() -> None:
    assert all(value > 0 for value in FITTED.values())
    assert all(value < 1 for name, value in FITTED.items() if name.endswith("_ratio"))
    assert all(value < 0.05 for name, value in FITTED.items() if name.endswith("_s"))
    assert FITTED_SPEEDS.bandwidth_ratio == FITTED["bandwidth_ratio"]


def test_a_public_point_on_an_mi300x_is_met_within_its_doubt() -> None:
    found = closed_loop(steps("Qwen/Qwen3-8B", "MI300X"), Clients(32, 1024, 1024, waves=3))
    doubt = doubt_of(architecture("Qwen/Qwen3-8B"), flags(), card("MI300X"), fast_link=True)
    assert found.tpot_s == pytest.approx(0.00942, rel=0.1)  # what its reach was taken from
    assert found.ttft_s == pytest.approx(0.645, rel=doubt.ratio)
