"""The notation of scenario files, and its parser.

A scenario file holds the cases of one symptom: series as they would be measured, and the verdict
that must come out.

    # what a person should know about these cases
    case pool full, slots free, a queue
    every 5s
    kv_usage_ratio            0.97x5
    running_requests          12 12 11 12+0x2
    capacity_waiting_requests 3+1x5
    max_running_requests      64
    expect Present 0.9
    because wait for KV blocks

    case a log line
    log_gpu_oom_serving       1 | CUDA out of memory. Tried to allocate 2 GiB
    expect Present

Lines of a case:
    case NAME            begins a case
    every 5s             time between readings (5 s where it is not said)
    version NUMBER       of the engine
    config NAME NUMBER   a resolved setting of the engine; with `assumed` behind it, a default that
    may not be this engine's
    SIGNAL VALUES        one reading per interval; `| TEXT` is the signal's detail (what the last reading quotes)
    expect VERDICT [C]   Present, Absent or Unknown; C: the least confidence of a Present, `<C` its
    upper bound
    because TEXT         must be in the sentence (several lines: all of them)

Values, in the way of promqltest:
    0.5          one reading
    0.5x4        a reading and four more of the same
    1+2x3        1 3 5 7;  7-2x3 is 7 5 3 1
    _  _x3       no reading (three of them)
    stale        last word of a line: the series ended so long ago that it is stale at the judgement
Every series ends at the judgement: its last value is the latest, whatever the length of the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from barostat.catalog.signals import SIGNALS
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.signal import Point, Signal
from barostat.core.version import parse_version
from barostat.core.window import Window

AT = 1_795_000_000.0
"""The instant of every judgement."""

_VALUES = re.compile(
    r"^(?P<start>-?[\d.]+(?:e-?\d+)?)(?:(?P<sign>[+-])(?P<step>[\d.]+))?(?:x(?P<times>\d+))?$"
)
_GAP = re.compile(r"^_(?:x(?P<times>\d+))?$")


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the window, and what must come out. `line`: where it begins in its file."""

    file: str
    line: int
    name: str
    window: Window
    verdict: str
    least_confidence: float = 0.0
    most_confidence: float = 1.0
    because: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    line: int
    name: str
    every_s: float = 5.0
    version: str = ""
    series: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    config: dict[str, ConfigValue] = field(default_factory=dict)
    expect: list[str] = field(default_factory=list)
    because: list[str] = field(default_factory=list)


def expand(words: list[str]) -> list[float | None]:
    """The readings that the words stand for; None is a gap."""
    readings: list[float | None] = []
    for word in words:
        if gap := _GAP.match(word):
            readings += [None] * int(gap["times"] or 1)
            continue
        found = _VALUES.match(word)
        if not found:
            raise ValueError(f"{word!r} is no value of this notation")
        step = float(found["step"] or 0.0) * (-1 if found["sign"] == "-" else 1)
        readings += [float(found["start"]) + step * k for k in range(int(found["times"] or 0) + 1)]
    return readings


def series(name: str, words: list[str], detail: str, every_s: float) -> Signal:
    """The signal that a line stands for, its last reading at AT, or long before where it is
    stale.
    """
    kind = SIGNALS[name]
    stale = words[-1] == "stale"
    readings = expand(words[:-1] if stale else words)
    end = AT - (kind.stale_after_s + 1.0 if stale else 0.0)
    first = end - every_s * (len(readings) - 1)
    points = tuple(
        Point(first + every_s * k, value) for k, value in enumerate(readings) if value is not None
    )
    if not points:
        raise ValueError(f"{name} has no reading")
    return Signal(name, kind.unit, points, "scenario", kind.stale_after_s, detail)


def _finish(draft: _Draft, file: str) -> Case:
    if not draft.expect:
        raise ValueError(f"{file}:{draft.line}: a case without an expectation")
    signals = {
        name: series(name, words, detail, draft.every_s)
        for name, (words, detail) in draft.series.items()
    }
    case = Case(
        file,
        draft.line,
        draft.name,
        Window("replica", AT, signals, EngineConfig(draft.config), parse_version(draft.version)),
        draft.expect[0],
        because=tuple(draft.because),
    )
    if len(draft.expect) > 1:
        bound = draft.expect[1]
        return (
            replace(case, most_confidence=float(bound[1:]))
            if bound.startswith("<")
            else replace(case, least_confidence=float(bound))
        )
    return case


def _take(draft: _Draft, line: str) -> None:
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word == "every":
        draft.every_s = float(rest.removesuffix("s"))
    elif word == "version":
        draft.version = rest
    elif word == "config":
        name, number, *assumed = rest.split()
        draft.config[name] = ConfigValue(
            float(number), "version-default" if assumed else "flag", "scenario", not assumed
        )
    elif word == "expect":
        draft.expect = rest.split()
        if draft.expect[0] not in ("Present", "Absent", "Unknown"):
            raise ValueError(f"{rest!r} is no verdict")
    elif word == "because":
        draft.because.append(rest)
    elif word in SIGNALS:
        values, _, detail = rest.partition("|")
        draft.series[word] = (values.split(), detail.strip())
    else:
        raise ValueError(f"{word!r} is neither a signal nor a word of this notation")


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of one scenario file.

    Errors: ValueError with the file and the line for what is not of this notation.
    """
    drafts: list[_Draft] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if line.startswith("case "):
                drafts.append(_Draft(number, line.removeprefix("case ")))
            elif not drafts:
                raise ValueError("a line before the first case")
            else:
                _take(drafts[-1], line)
        except ValueError as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error
    return tuple(_finish(draft, path.name) for draft in drafts)
