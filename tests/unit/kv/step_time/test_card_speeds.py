"""What a card can do, from its data sheet and what others measured of its kind."""

from __future__ import annotations

import pytest

from barostat.catalog.cards import CARDS, Card, find_card
from barostat.catalog.step_speeds import (
    ARITHMETIC_REACH_RATIO,
    FITTED,
    HALF_RATE_CARDS,
    HALF_RATE_RATIO,
    MEASURED_CARDS,
    REACH_RATIO,
)
from barostat.kv.step_time.card_speeds import card_speeds
from barostat.kv.step_time.model import CardSpeeds


def speeds(name: str) -> tuple[Card, CardSpeeds]:
    card = find_card(name)
    assert card is not None
    found = card_speeds(card)
    assert found is not None
    return card, found


@pytest.mark.parametrize("name", sorted(MEASURED_CARDS))
def test_cards_that_the_speeds_were_fitted_on_are_their_data_sheets(name: str) -> None:
    card, found = speeds(name)
    assert card.bf16_tflops is not None
    assert found.flops_16bit == pytest.approx(card.bf16_tflops * 1e12)
    assert found.tile_rows == 1


@pytest.mark.parametrize("name", ["A10G", "RTX 4090", "RTX 3090"])
def test_cards_that_add_up_at_half_rate_reach_more_of_that_rate(name: str) -> None:
    card, found = speeds(name)
    assert card.bf16_tflops is not None
    reached = found.flops_16bit * FITTED["compute_16bit_ratio"] / (card.bf16_tflops * 1e12)
    assert reached == pytest.approx(HALF_RATE_RATIO)


@pytest.mark.parametrize(
    ("name", "rows"), [("A100", 128), ("L40S", 128), ("RTX 5090", 128), ("H100", 1), ("MI300X", 1)]
)
def test_tiles_are_those_of_the_cards_generation(name: str, rows: int) -> None:
    assert speeds(name)[1].tile_rows == rows


def test_a_make_reaches_less_of_its_arithmetic_than_of_its_bandwidth() -> None:
    card, found = speeds("MI300X")
    assert card.bandwidth_gb_per_s is not None
    assert card.bf16_tflops is not None
    of_bandwidth = found.bandwidth_bytes_per_s / (card.bandwidth_gb_per_s * 1e9)
    of_arithmetic = found.flops_16bit / (card.bf16_tflops * 1e12)
    assert of_bandwidth == pytest.approx(REACH_RATIO["AMD"])
    assert of_arithmetic == pytest.approx(ARITHMETIC_REACH_RATIO["AMD"])
    assert of_arithmetic < of_bandwidth


def test_every_name_stands_for_a_card_of_the_catalogue() -> None:
    for start in HALF_RATE_CARDS:
        assert any(card.name.startswith(start) for card in CARDS), start
