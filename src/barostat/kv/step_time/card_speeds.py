"""A card's figures as a step model takes them, from the catalogue."""

from __future__ import annotations

from barostat.catalog.cards import Card
from barostat.catalog.step_speeds import (
    ARITHMETIC_REACH_RATIO,
    FITTED,
    FP4_TFLOPS,
    FP16_TFLOPS,
    HALF_RATE_CARDS,
    HALF_RATE_RATIO,
    LINKS_GB_PER_S,
    PCIE_ELSE_GB_PER_S,
    PCIE_GB_PER_S,
    REACH_RATIO,
    TILE_ROWS,
)
from barostat.kv.step_time.model import CardSpeeds, StepSpeeds

FITTED_SPEEDS = StepSpeeds(**FITTED)
_TILED = ("8", "12")  # compute capabilities by their first number


def card_speeds(card: Card) -> CardSpeeds | None:
    """Return the card's speeds; None if its bandwidth or arithmetic is not in the catalogue.

    Where fp8 or fp4 are not, they run as the next wider arithmetic does. Cards of a make that was
    seen to reach less of its data sheets are given that much less, and those that reach more of
    their 16-bit figure that much more.
    """
    tflops = card.bf16_tflops or FP16_TFLOPS.get(card.name)
    if not card.bandwidth_gb_per_s or not tflops:
        return None
    eight = card.fp8_tflops or tflops
    reach = REACH_RATIO.get(card.vendor, 1.0)
    computed = ARITHMETIC_REACH_RATIO.get(card.vendor, 1.0)
    linked = next((speed for name, speed in LINKS_GB_PER_S if card.name.startswith(name)), None)
    generation = card.capability.split(".")[0]
    slot = PCIE_GB_PER_S.get(generation, PCIE_ELSE_GB_PER_S)
    half_rate = card.name.startswith(HALF_RATE_CARDS)
    sixteen = HALF_RATE_RATIO / FITTED_SPEEDS.compute_16bit_ratio if half_rate else 1.0
    return CardSpeeds(
        bandwidth_bytes_per_s=card.bandwidth_gb_per_s * 1e9 * reach,
        flops_16bit=tflops * 1e12 * computed * sixteen,
        flops_8bit=eight * 1e12 * computed,
        flops_4bit=FP4_TFLOPS.get(card.name, eight) * 1e12 * computed,
        link_bytes_per_s=(linked or slot) * 1e9,
        fast_link=linked is not None,
        tile_rows=TILE_ROWS if generation in _TILED else 1,
    )
