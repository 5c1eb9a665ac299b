"""Verdicts on what is counted: log lines, events, flags of a status. Zero means that the log was
read and none was found.
"""

from __future__ import annotations

from collections.abc import Sequence

from barostat.core.signal import Signal
from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.visible import cut
from barostat.core.window import Window
from barostat.symptoms._memory_figures import memory_figures

QUOTE_LENGTH = 90
"""A quoted line longer than this is cut: the evidence keeps all of it."""

EARLIER_LIFE_CONFIDENCE = 0.85
"""Confidence if only the log before a restart shows it: it explains the restart, but may not
continue.
"""


def quote(text: str, length: int = QUOTE_LENGTH) -> str:
    """The text on one line, cut to `length`."""
    return cut(text, length)


def line_summary(detail: str) -> str:
    """What a line says: its figures where it is about memory, else the line, cut."""
    return memory_figures(detail) or quote(detail)


def times(count: float) -> str:
    """`` for one, ` (3 times)` for more."""
    return f" ({count:.0f} times)" if count > 1 else ""


def plural(count: float, word: str) -> str:
    """The count and the word, with an s where there is not exactly one."""
    return f"{count:.0f} {word}{'' if round(count) == 1 else 's'}"


def found(window: Window, names: Sequence[str]) -> list[Signal]:
    """The fresh ones of these signals that counted something, in the order of the names."""
    return [
        signal for name in names if (signal := window.fresh(name)) is not None and signal.last > 0
    ]


def looked_at(window: Window, names: Sequence[str]) -> list[Signal]:
    """The fresh ones of these signals."""
    return [signal for name in names if (signal := window.fresh(name)) is not None]


def counted(
    window: Window,
    names: Sequence[str],
    *,
    seen: str,
    none: str,
    confidence: float = 1.0,
    once: bool = False,
) -> Verdict:
    """Present with the first signal that counted something, with its quote; Absent if all readable
    signals are 0.

    `once`: it happens once per life of the engine, however many lines report it.
    """
    hits = found(window, names)
    if not hits:
        return Absent(
            none, tuple(signal.evidence(window.at) for signal in looked_at(window, names))
        )
    first = hits[0]
    because = f"{seen}{'' if once else times(first.last)}"
    if first.detail:
        because += f": {line_summary(first.detail)}"
    if first.name.startswith("previous_"):
        because, confidence = (
            f"{because} (in the log before the restart)",
            min(confidence, EARLIER_LIFE_CONFIDENCE),
        )
    return Present(because, tuple(signal.evidence(window.at) for signal in hits), confidence)


def symptom_of_counts(
    name: str,
    title: str,
    signals: tuple[str, ...],
    *,
    seen: str,
    none: str,
    confidence: float = 1.0,
    once: bool = False,
    harm: Harm = Harm.NONE,
) -> Symptom:
    """A symptom that repeats what is counted: present where one of the signals counted something.

    `seen`, `none`, `confidence`, `once`: as for `counted`. `harm`: as for a Symptom.
    """

    def judge(window: Window) -> Verdict:
        return counted(window, signals, seen=seen, none=none, confidence=confidence, once=once)

    several = len(signals) > 1
    return Symptom(
        name,
        title,
        judge,
        needs=() if several else signals,
        needs_any=signals if several else (),
        harm=harm,
    )
