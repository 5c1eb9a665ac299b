"""One accelerator card as a vendor's tool shows it at one instant, and what a tool's output reads
to.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

Vendor = Literal["nvidia", "amd"]

MIB = 1024.0 * 1024.0
_SCALE = {
    "b": 1.0,
    "kb": 1024.0,
    "kib": 1024.0,
    "mb": MIB,
    "mib": MIB,
    "gb": 1024.0 * MIB,
    "gib": 1024.0 * MIB,
}
_NUMBER = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z%°]*)\s*$")


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that holds memory on a card. `memory_bytes` None: the tool does not say
    (containers, Windows, MIG).
    """

    pid: int | None
    name: str
    memory_bytes: float | None


@dataclass(frozen=True, slots=True)
class Card:
    """One card, or one MIG slice of it. None: the tool does not report the value.

    Units: bytes, C, ratios 0..1. `throttle` holds the reasons by the names of
    `barostat.catalog.gpu_faults`; empty means none is active. `processes` None: the tool was not
    asked for processes. `lost`: the card does not respond; `note` quotes the message.
    """

    index: int
    vendor: Vendor
    name: str = ""
    uuid: str = ""
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    utilization_ratio: float | None = None
    power_ratio: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] | None = None
    ecc_uncorrected: float | None = None
    ecc_corrected: float | None = None
    rows_pending: float | None = None
    xid: int | None = None
    processes: tuple[CardProcess, ...] | None = None
    lost: bool = False
    note: str = ""
    rows_failed: float | None = None

    @property
    def title(self) -> str:
        """`card 3`: how a message names it."""
        return f"card {self.index}"


@dataclass(frozen=True, slots=True)
class GpuOutput:
    """The cards in one tool's output, and the problems of the output."""

    cards: tuple[Card, ...] = ()
    problems: tuple[str, ...] = field(default_factory=tuple)


def number(value: Any) -> float | None:
    """The finite number in a cell (`12`, `12.5`, `"12 W"`, `"45C"`), or None for anything else."""
    found = quantity(value)
    return None if found is None else found[0]


def quantity(value: Any) -> tuple[float, str] | None:
    """Number and unit of a cell, whether it is a number, a text with a unit, or `{"value": ..,
    "unit": ..}`; None if it is none.
    """
    if isinstance(value, dict):
        inner = quantity(value.get("value"))
        unit = value.get("unit")
        return (
            None
            if inner is None
            else (inner[0], unit.lower() if isinstance(unit, str) else inner[1])
        )
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            as_float = float(value)
        except OverflowError:
            return None
        return (as_float, "") if math.isfinite(as_float) else None
    if not isinstance(value, str) or not (match := _NUMBER.match(value)):
        return None
    as_float = float(match[1])
    return (as_float, match[2].lower()) if math.isfinite(as_float) else None


def memory_bytes(value: Any, default_unit: str = "mib") -> float | None:
    """A cell that holds an amount of memory, in bytes; vendors write MB and mean MiB."""
    found = quantity(value)
    if found is None or found[0] < 0:
        return None
    held = found[0] * _SCALE.get(found[1] or default_unit, _SCALE[default_unit])
    return held if math.isfinite(held) else None


def percent_ratio(value: Any) -> float | None:
    """A cell that holds a percentage, as a ratio; None outside 0..100."""
    found = number(value)
    return found / 100.0 if found is not None and 0.0 <= found <= 100.0 else None


def power_share(used: float | None, limit: float | None) -> float | None:
    """Return power over its limit, or None if one of them is unknown."""
    return (
        used / limit if used is not None and limit is not None and used >= 0 and limit > 0 else None
    )
