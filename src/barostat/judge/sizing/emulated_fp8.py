"""An fp8 KV cache on a card without fp8 arithmetic, said in a sentence."""

from __future__ import annotations

from barostat.catalog.cards import Card

_FIRST_WITH_FP8 = 8.9
_AMD_WITHOUT_FP8 = ("MI2", "Radeon PRO W7", "RX 7")


def emulated_fp8(card: Card | None, kv_cache_dtype: str) -> str:
    """Return a note on fp8 KV cache for cards without fp8 arithmetic; empty for others.

    Source: NVIDIA's compute capability 8.9 is the first with fp8 tensor cores; AMD's data sheets
    have fp8 from MI300 and, of Radeons, from R9700 on.
    """
    if card is None or not kv_cache_dtype.startswith("fp8") or card.fp8_tflops is not None:
        return ""
    if card.vendor == "NVIDIA" and (
        not card.capability or float(card.capability) >= _FIRST_WITH_FP8
    ):
        return ""
    if card.vendor == "AMD" and not card.name.startswith(_AMD_WITHOUT_FP8):
        return ""
    return (
        f"{card.name} has no fp8 arithmetic: an fp8 cache holds twice as many tokens, but "
        "each is converted to 16 bit when it is read, so "
        "attention gets no faster, and not every attention backend does it: try the start first"
    )
