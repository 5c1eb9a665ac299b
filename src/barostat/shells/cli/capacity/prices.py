"""`--price H100=2.5,L40S=0.8`: what an hour of one card costs."""

from __future__ import annotations

from barostat.catalog.card_counts import read_card_count
from barostat.core.errors import InputError


def prices_of(texts: list[str] | None) -> dict[str, float]:
    """Price of an hour of one card, by the catalogue's name (or the one written), from
    `H100=2.5,L40S=0.8`.

    Errors: InputError naming the part.
    """
    found: dict[str, float] = {}
    for part in (part.strip() for text in texts or () for part in text.split(",") if part.strip()):
        name, _, value = part.rpartition("=")
        try:
            price = float(value.lstrip("$€"))
        except ValueError:
            price = -1.0
        if not name or not 0 < price < 1e6:
            raise InputError(
                f"{part!r} is no price of an hour of one card; write it such as H100=2.5,L40S=0.8",
                "--price",
            )
        cards = read_card_count(name)
        if cards is None:
            raise InputError(f"no card goes by {name!r} (--gpu list shows all)", "--price")
        if cards.count not in (None, 1):
            raise InputError(
                f"is for one card: divide {price:g} by {cards.count}", f"--price {part}"
            )
        found[cards.card.name] = price
    return found
