"""What `-o wide` adds to the report, each thing once: readings by their source, what was said
already by its name alone.

-o json has the same in full: every reading beside the finding that rests on it, a reason for every
verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from barostat.core.diagnosis import NextStep, SymptomFinding
from barostat.core.units import figure
from barostat.core.verdict import Evidence, Present

_LABELS = re.compile(r"\{[^{}]*\}")
_MEAN = "sum per count of "
_FIGURE = re.compile(r"\d")


def value_words(item: Evidence) -> str:
    """The reading with its unit."""
    if not math.isfinite(item.value):
        return f"{item.value}, which is no quantity"
    if item.unit == "ratio":
        return f"{item.value:.1%}"
    if item.unit == "bytes":
        return f"{item.value / 2**30:.2f} GiB"
    value = f"{item.value:,.0f}" if item.value == int(item.value) else figure(item.value)
    return value if item.unit in ("count", "bool") else f"{value} {item.unit}"


def readings(found: Iterable[SymptomFinding]) -> list[tuple[str, str]]:
    """(source, its readings) for each source that a finding rests on: every signal once, with its
    age where it is not of now.
    """
    by_source: dict[str, dict[str, str]] = {}
    for finding in found:
        for item in finding.verdict.evidence if isinstance(finding.verdict, Present) else ():
            source = _LABELS.sub("", item.source.partition(" (")[0]).removeprefix(_MEAN)
            aged = f" ({item.age_s:.0f} s old)" if item.age_s >= 1 else ""
            by_source.setdefault(source, {}).setdefault(
                item.signal, f"{item.signal} {value_words(item)}{aged}"
            )
    return [(source, ", ".join(said.values())) for source, said in by_source.items()]


def reasons_once(
    rows: Iterable[tuple[str, str]], said: set[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """(names with the figure that speaks against them, names of those of which there is no more to
    say).

    A reason without a figure says that nothing was seen of it, and one that was `said` already says
    nothing new.
    """
    told, names = [], []
    for name, because in rows:
        if _FIGURE.search(because) and not any(because in before for before in said):
            said.add(because)
            told.append((name, because))
        else:
            names.append(name)
    return told, names


def by_reason(steps: Sequence[NextStep]) -> list[tuple[str, str]]:
    """(names, reason): those that are not advised for the same reason stand together."""
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(str(step.because), []).append(step.lever)
    return [(", ".join(names), because) for because, names in found.items()]


def evidence_words(item: Evidence) -> str:
    """One piece of evidence in words: value, unit, where it comes from, how old it is."""
    return f"{item.signal} {value_words(item)}, from {item.source}, {item.age_s:.0f} s old"
