"""What of the run-book is left out here, and why: too few cards, a flag that this version lacks, a
model that does not fit.
"""

from __future__ import annotations

from dev.gpu.here import Here
from dev.gpu.item import Item
from dev.gpu.journal import Journal
from dev.gpu.startup import planned_for, stated_row

from barostat.catalog.settings.table import canonical_name, has_flag
from barostat.core.units import GIB


def left_out(item: Item, here: Here, journal: Journal) -> str:
    """Why this item is not measured here; empty where it is."""
    if here.kind == "card" and item.cards > len(here.cards):
        return f"needs {item.cards} cards of one kind, {len(here.cards)} can be used"
    for flag in item.flags(here):
        if flag.startswith("--") and has_flag(canonical_name(flag), here.release) is False:
            return f"vLLM {here.version} has no {flag}"
    return item.impossible(here) or (
        _too_large(item, here, journal) if here.kind == "card" and item.must_fit else ""
    )


def _too_large(item: Item, here: Here, journal: Journal) -> str:
    """What the planner says of a model that the card does not hold."""
    found = planned_for(stated_row(item.name, item.model, item.settings, here), here, journal)
    if isinstance(found, str):
        return f"cannot be planned: {found}"
    if found.fits or found.high.fits:  # what may fit is tried
        return ""
    needed = found.weights_bytes / GIB
    return (
        f"does not fit: weights of {needed:.1f} GiB leave {found.available.value / GIB:.1f} "
        "GiB for the pool of one card"
    )
