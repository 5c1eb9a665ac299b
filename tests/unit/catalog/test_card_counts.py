"""What people write after --gpu."""

from __future__ import annotations

import pytest

from barostat.catalog.card_counts import nearest_cards, read_card_count
from barostat.catalog.cards import CARDS


@pytest.mark.parametrize(
    ("text", "card", "count"),
    [
        ("H100", "H100-SXM5-80GB", None),
        ("4xA100", "A100-SXM4-80GB", 4),
        ("8 x H100", "H100-SXM5-80GB", 8),
        ("H100x4", "H100-SXM5-80GB", 4),
        ("2 L40S", "L40S", 2),
        ("l4*8", "L4", 8),
        ("MI300X", "MI300X", None),
        ("MI300Xx8", "MI300X", 8),
        ("8xMI300X", "MI300X", 8),
        ("rtx 4090", "RTX 4090", None),
        ("2x RTX 4090", "RTX 4090", 2),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", None),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", None),
        ("AMD Instinct MI300X VF", "MI300X", None),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", None),
        ("NVIDIA GB10", "GB10", None),
        ("DGX Spark", "GB10", None),
        ("2x DGX Spark", "GB10", 2),
        ("NVIDIA Thor", "Jetson AGX Thor", None),
        ("Strix Halo", "Strix Halo", None),
        ("AMD Radeon 8060S", "Strix Halo", None),
        ("NVIDIA GeForce RTX 5070 Ti", "RTX 5070 Ti", None),
        ("RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER", None),
        ("NVIDIA GeForce RTX 4080 SUPER", "RTX 4080 SUPER", None),
        ("4080", "RTX 4080", None),
        ("RTX 5080 x2", "RTX 5080", 2),
        ("NVIDIA RTX A5000", "RTX A5000", None),
        ("NVIDIA RTX A4000", "RTX A4000", None),
    ],
)
def test_a_card_and_how_many(text: str, card: str, count: int | None) -> None:
    found = read_card_count(text)
    assert found is not None
    assert (found.card.name, found.count) == (card, count)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_goes_by_its_own_name_also_with_a_count(card: object) -> None:
    name = card.name  # type: ignore[attr-defined]
    alone, several = read_card_count(name), read_card_count(f"4x {name}")
    assert alone is not None
    assert alone.card is card
    assert several is not None
    assert (several.card, several.count) == (card, 4)


@pytest.mark.parametrize(
    "text", ["H100 banana", "banana", "GB100", "0xH100", "5000xH100", "H1000", "x4", "", "4x"]
)
def test_what_is_no_card_is_none(text: str) -> None:
    assert read_card_count(text) is None


def test_the_nearest_are_named() -> None:
    assert "H100-SXM5-80GB" in nearest_cards("H10O")
    assert "MI300X" in nearest_cards("MI30X")
    assert nearest_cards("banana") == ()


def test_memory_shared_with_the_host_is_a_kind_of_its_own() -> None:
    shared = {card.name for card in CARDS if card.unified}
    assert shared == {"GB10", "Jetson AGX Thor", "Strix Halo", "MI300A"}


@pytest.mark.parametrize("text", ["9" * 5000 + "x H100", "H100x" + "9" * 5000])
def test_a_count_of_thousands_of_digits_is_no_card(text: str) -> None:
    assert read_card_count(text) is None
