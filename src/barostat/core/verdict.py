"""What a symptom's judgement can be. Never a bool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class Evidence:
    """A measurement that supports a judgement.

    Units: `value` in `unit`; `age_s` seconds before the judgement; `source` says where to look it
    up.
    """

    signal: str
    value: float
    unit: str
    age_s: float
    source: str
    note: str = ""


class _NoTruth:
    """Mixin: a verdict has no truth value, so that Unknown can never pass for no (or for yes)."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is not a bool: match Present, Absent and Unknown")


@dataclass(frozen=True, slots=True)
class Present(_NoTruth):
    """The pattern is there.

    `confidence` (0..1) is lower where little was seen (one reading instead of a held condition).
    """

    because: str
    evidence: tuple[Evidence, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Absent(_NoTruth):
    """The pattern is absent, as the measurements show."""

    because: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown(_NoTruth):
    """No verdict: signals are missing, stale or inconclusive.

    `crashed`: the rule itself failed, which is a bug in Barostat and is shown as one.
    """

    why: str
    missing: tuple[str, ...] = ()
    crashed: bool = False


Verdict = Present | Absent | Unknown
