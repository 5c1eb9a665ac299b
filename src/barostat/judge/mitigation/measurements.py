"""Measurements around a remedy, for its post-mortem: a few figures of each engine over time, before
and after the change.

Stored next to the record: numbers and pod names, bounded in size. No decision uses them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from barostat.core.errors import InputError
from barostat.core.signal import Point, Signal

API_VERSION = "barostat.dev/v1alpha1"
KIND = "IncidentMeasurements"
OVER_TIME = (
    "kv_usage_ratio",
    "preemptions_per_s",
    "running_requests",
    "waiting_requests",
    "generation_tokens_per_s",
    "ttft_mean_s",
    "itl_mean_s",
)
"""Figures with a point for each scrape."""
OF_ALL = ("ttft_p99_s", "itl_p99_s")
"""Figures of the whole time: one point, at its end."""
MOST_POINTS = 60
MOST_BYTES = 96 << 10
"""Of everything together: the record and the limits lie in the same ConfigMap, which takes 1
MiB.
"""
LONGEST_NAME = 253

When = Literal["before", "after"]
Key = tuple[When, str, str, float]


@dataclass(frozen=True, slots=True)
class Look:
    """One engine, looked at for a while. `when`: before the change, or after it, for a
    verification.

    `engine`: which one of the pod, empty if it has one. Shapes: at least one series, each of at
    least one point, ascending in time.
    Units: a point is at unix seconds, to a tenth; its value is in the unit of the signal that the
    series is named after.
    """

    when: When
    pod: str
    engine: str
    series: Mapping[str, tuple[Point, ...]]

    @property
    def at(self) -> float:
        """Time of the first point, in unix seconds."""
        return min(points[0].at for points in self.series.values())

    @property
    def key(self) -> Key:
        """Return the key that a continued observation shares."""
        return self.when, self.pod, self.engine, self.at


def look(
    when: When,
    pod: str,
    engine: str,
    signals: Mapping[str, Signal],
    names: Iterable[str] = (*OVER_TIME, *OF_ALL),
) -> Look | None:
    """Extract the series from these signals; None if there are none."""
    found = {}
    for name in names:
        points = signals[name].points if name in signals else ()
        if kept := tuple(
            Point(round(at, 1), _short(value)) for at, value in points if math.isfinite(value)
        ):
            found[name] = kept
    return Look(when, pod[:LONGEST_NAME], engine[:LONGEST_NAME], found) if found else None


def longer(earlier: Look, later: Look) -> Look:
    """The earlier look, gone on."""
    series = dict(earlier.series)
    for name, points in later.series.items():
        held = series.get(name, ())
        series[name] = (*held, *(point for point in points if not held or point.at > held[-1].at))
    return Look(earlier.when, earlier.pod, earlier.engine, series)


def carried(held: str, own: Iterable[Look]) -> str:
    """Merge the stored document with new observations; empty if there are none.

    An unreadable document is kept until there is something to replace it.
    """
    own = list(own)
    try:
        known = list(measured(held)) if held else []
    except InputError:
        if not own:
            return held if len(held) <= MOST_BYTES else ""
        known = []
    looks = {found.key: found for found in (*known, *own)}
    return written(looks.values())


def written(looks: Iterable[Look]) -> str:
    """The looks as one document of at most MOST_BYTES: the oldest are thinned first, and then left
    out. Empty for none.
    """
    kept = [_thinned(found, MOST_POINTS) for found in sorted(looks, key=lambda found: found.at)]
    sizes = [_size(found) for found in kept]
    over, points = sum(sizes) + _size(None) - MOST_BYTES, MOST_POINTS
    while over > 0 and points > 3:
        points //= 2
        for place, found in enumerate(kept):
            if over > 0:
                kept[place] = _thinned(found, points)
                size = sizes[place] if kept[place] is found else _size(kept[place])
                over += size - sizes[place]
                sizes[place] = size
    while over > 0:
        over -= sizes.pop(0)
        kept.pop(0)
    return _text(document(kept)) if kept else ""


def document(looks: Sequence[Look]) -> dict[str, Any]:
    """The looks as plain data. Units: `at` is unix seconds; a point is [seconds after that,
    value].
    """
    return {"apiVersion": API_VERSION, "kind": KIND, "looks": [_plain(found) for found in looks]}


def measured(text: str, where: str = "measurements") -> tuple[Look, ...]:
    """Return the observations in a document, oldest first.

    Errors: InputError for an invalid document, with the path of the error.
    """
    if len(text) > MOST_BYTES:
        raise InputError(f"is longer than {MOST_BYTES} characters", where)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", where) from error
    body = _object(found, ("apiVersion", "kind", "looks"), where)
    if body["apiVersion"] != API_VERSION or body["kind"] != KIND:
        raise InputError(f"is not {KIND} {API_VERSION}", where)
    looks = [
        _look(entry, f"{where}.looks[{place}]")
        for place, entry in enumerate(_list(body["looks"], f"{where}.looks"))
    ]
    return tuple(sorted(looks, key=lambda entry: entry.at))


# --- writing


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _thinned(found: Look, most: int) -> Look:
    """Thin every series to a maximum number of points, spread evenly; the first and the last stay."""
    if all(len(points) <= most for points in found.series.values()):
        return found
    return Look(
        found.when,
        found.pod,
        found.engine,
        {name: _spread(points, most) for name, points in found.series.items()},
    )


def _spread(points: tuple[Point, ...], most: int) -> tuple[Point, ...]:
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return tuple(points[round(step * place)] for place in range(most))


def _plain(found: Look) -> dict[str, Any]:
    at = found.at
    series = {
        name: [[_whole(round(point.at - at, 1)), _whole(point.value)] for point in points]
        for name, points in found.series.items()
    }
    return {
        "when": found.when,
        "pod": found.pod,
        "engine": found.engine,
        "at": at,
        "series": series,
    }


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _size(found: Look | None) -> int:
    return len(_text(document([])) if found is None else _text(_plain(found)) + ",")


def _text(plain: dict[str, Any]) -> str:
    return json.dumps(plain, separators=(",", ":"))


# --- reading


def _look(value: Any, where: str) -> Look:
    body = _object(value, ("when", "pod", "engine", "at", "series"), where)
    if body["when"] not in get_args(When):
        raise InputError(f"must be one of {', '.join(get_args(When))}", f"{where}.when")
    for key in ("pod", "engine"):
        if not isinstance(body[key], str) or len(body[key]) > LONGEST_NAME:
            raise InputError(
                f"must be a text of at most {LONGEST_NAME} characters", f"{where}.{key}"
            )
    at = _number(body["at"], f"{where}.at")
    if not isinstance(body["series"], dict) or not body["series"]:
        raise InputError("must be an object with at least one series", f"{where}.series")
    series = {}
    for name, points in body["series"].items():
        if name not in (*OVER_TIME, *OF_ALL):
            raise InputError("is not known", f"{where}.series.{name[:40]}")
        series[name] = _points(points, at, f"{where}.series.{name}")
    return Look(body["when"], body["pod"], body["engine"], series)


def _points(value: Any, at: float, where: str) -> tuple[Point, ...]:
    pairs = _list(value, where)
    if not 1 <= len(pairs) <= MOST_POINTS or not all(
        isinstance(pair, list) and len(pair) == 2 for pair in pairs
    ):
        raise InputError(f"must be 1 to {MOST_POINTS} pairs of seconds and value", where)
    points = tuple(
        Point(round(at + _number(after, where), 1), _number(found, where)) for after, found in pairs
    )
    if any(later.at < earlier.at for earlier, later in pairwise(points)):
        raise InputError("must ascend in time", where)
    return points


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise InputError("must be a number", where)
    return float(value)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("must be a list", where)
    return value


def _object(value: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise InputError(f"must be an object of {', '.join(keys)}", where)
    return value
