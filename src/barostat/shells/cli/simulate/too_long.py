"""How many requests of a load are longer than an engine takes: no setting that is tried, and no
lesser load, lets them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barostat.core.units import many
from barostat.twin.intake import is_refused_of_itself
from barostat.twin.request import Row
from barostat.twin.settings import Settings


class TooLong(NamedTuple):
    """Their share of all, and that in words."""

    ratio: float
    words: str


def too_long(settings: Settings, rows: Sequence[Row]) -> TooLong | None:
    """Those of the rows that this engine refuses for their length; None if it takes all."""
    count = sum(is_refused_of_itself(settings, row) for row in rows)
    if not count:
        return None
    ratio = count / len(rows)
    share = f"{ratio:.1%}" if ratio >= 0.001 else "less than 0.1%"
    return TooLong(
        ratio,
        f"{count:,} of {many(len(rows), 'request')} ({share}) are longer than "
        f"max_model_len {settings.max_model_len:,}, and refused "
        "however little comes",
    )
