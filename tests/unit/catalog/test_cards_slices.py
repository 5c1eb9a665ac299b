"""MIG instances are cards of their own: their memory is not the whole card's."""

from __future__ import annotations

import pytest

from barostat.catalog.card_counts import read_card_count
from barostat.catalog.cards import find_card, is_slice
from barostat.core.units import GIB


@pytest.mark.parametrize(
    ("name", "card", "seen_gib"),
    [
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-SXM4-80GB MIG 1g.10gb", 9.5),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "A100-SXM4-80GB MIG 3g.40gb", 39.25),
        ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", "H100-SXM5-80GB MIG 3g.40gb", 39.38),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-SXM4-40GB MIG 1g.5gb", 4.75),
        ("H200 MIG 1g.18gb+me", "H200-SXM-141GB MIG 1g.18gb", 16.0),
        ("MIG 1g.10gb", "a MIG 1g.10gb", 9.75),
    ],
)
def test_a_slice_has_its_share(name: str, card: str, seen_gib: float) -> None:
    found = find_card(name)
    assert found is not None
    assert found.name == card
    _, low, high = found.memory_bytes
    assert low <= seen_gib * GIB <= high
    assert is_slice(found.name)
    asked = read_card_count(name)
    assert asked is not None
    assert asked.card == found


@pytest.mark.parametrize("name", ["H100", "NVIDIA-H100-80GB-HBM3", "MIGHTY 1g.10gb"])
def test_what_is_none(name: str) -> None:
    assert not is_slice(name)


def test_a_slice_of_no_card() -> None:
    assert find_card("Voodoo2 MIG 1g.10gb") is None
    assert read_card_count("vodka H100 MIG 1g.10gb") is None
