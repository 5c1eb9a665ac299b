"""A card's figures as a step model takes them, from the catalogue."""

from __future__ import annotations

from barostat.catalog.cards import Card
from barostat.catalog.step_speeds import (
    FITTED,
    FP4_TFLOPS,
    FP16_TFLOPS,
    LINKS_GB_PER_S,
    PCIE_ELSE_GB_PER_S,
    PCIE_GB_PER_S,
    REACH_RATIO,
)
from barostat.kv.step_time.model import CardSpeeds, StepSpeeds

FITTED_SPEEDS = StepSpeeds(**FITTED)


def card_speeds(card: Card) -> CardSpeeds | None:
    """What this card can do; None where its bandwidth or its arithmetic are not on record.

    Where fp8 or fp4 are not, they run as the next wider arithmetic does. Cards of a make that was
    seen to reach less of its data sheets are given that much less.
    """
    tflops = card.bf16_tflops or FP16_TFLOPS.get(card.name)
    if not card.bandwidth_gb_per_s or not tflops:
        return None
    eight = card.fp8_tflops or tflops
    reach = REACH_RATIO.get(card.vendor, 1.0)
    linked = next((speed for name, speed in LINKS_GB_PER_S if card.name.startswith(name)), None)
    slot = PCIE_GB_PER_S.get(card.capability.split(".")[0], PCIE_ELSE_GB_PER_S)
    return CardSpeeds(
        bandwidth_bytes_per_s=card.bandwidth_gb_per_s * 1e9 * reach,
        flops_16bit=tflops * 1e12 * reach,
        flops_8bit=eight * 1e12 * reach,
        flops_4bit=FP4_TFLOPS.get(card.name, eight) * 1e12 * reach,
        link_bytes_per_s=(linked or slot) * 1e9,
        fast_link=linked is not None,
    )
